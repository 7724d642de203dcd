#include "binary/decoder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "binary/elf.h"
#include "binary/sass_semantics.h"
#include "binary/sass_text.h"

namespace fathom {
namespace {

/// One function while its lines become instructions.
class FunctionReader {
 public:
  FunctionReader(const SassSection& section, const GpuSymbol& function, Bytes code)
      : section_(section), function_(function), code_(code) {}

  std::vector<Instruction> read() {
    auto at = std::lower_bound(
        section_.lines.begin(), section_.lines.end(), function_.offset,
        [](const SassLine& line, uint64_t offset) { return line.offset < offset; });
    std::vector<Instruction> instructions;
    instructions.reserve(code_.size() / kInstructionSize);
    for (; at != section_.lines.end(); ++at) {
      uint64_t offset = at->offset - function_.offset;
      if (offset >= code_.size()) break;
      if (!instructions.empty() && offset == instructions.back().offset) continue;
      instructions.push_back(instruction(*at, offset));
    }
    drop_padding(instructions);
    return instructions;
  }

 private:
  Instruction instruction(const SassLine& line, uint64_t offset) const {
    Instruction out = read_sass(line.text);
    out.offset = offset;
    ByteReader words(code_, offset);
    const uint64_t low = words.u64(), high = words.u64();
    out.control = decode_control(high);
    if (out.known) {
      add_hidden_descriptor(low, high, out);
      add_barriers(out);
    }
    resolve_target(line.text, out);
    if (out.flow == Flow::indirect_branch) read_table(line.annotation, out);
    return out;
  }

  /// Offsets count from the function's start, so that what lies before it has none.
  std::optional<uint64_t> label_offset(std::string_view label) const {
    auto found = section_.labels.find(label);
    if (found == section_.labels.end() || found->second < function_.offset) return std::nullopt;
    return found->second - function_.offset;
  }

  void resolve_target(std::string_view text, Instruction& out) const {
    const bool converges = out.base_opcode() == "BSSY";
    if (out.flow != Flow::branch && out.flow != Flow::call && !converges) return;
    size_t label = text.find("`(");
    if (label == text.npos) return;
    size_t close = text.find(')', label);
    (converges ? out.convergence : out.target) =
        label_offset(text.substr(label + 2, close - label - 2));
  }

  /// (*"BRANCH_TARGETS .L_x_1,.L_x_2"*)
  void read_table(std::string_view annotation, Instruction& out) const {
    constexpr std::string_view kTargets = "BRANCH_TARGETS";
    size_t start = annotation.find(kTargets);
    if (start == annotation.npos) return;
    annotation.remove_prefix(start + kTargets.size());
    annotation = annotation.substr(0, annotation.find_first_of("\"*"));
    for (std::string_view label : split(annotation, ','))
      if (std::optional<uint64_t> target = label_offset(trim(label))) out.table.push_back(*target);
    std::sort(out.table.begin(), out.table.end());
    out.table.erase(std::unique(out.table.begin(), out.table.end()), out.table.end());
  }

  const SassSection& section_;
  const GpuSymbol& function_;
  Bytes code_;
};

Result<std::vector<Instruction>> decode_from(SassText& text, const GpuBinary& binary,
                                             const GpuSymbol& function) {
  Result<ElfFile> elf = ElfFile::open(*binary.bytes, binary.name);
  if (!elf) return elf.error();
  std::string_view name = elf->section_name(function.section);
  const SassSection* section = text.section(name);
  if (!section)
    return Error{ErrorKind::bad_input,
                 format("the disassembly has no section %.*s", int(name.size()), name.data()),
                 binary.name, "it must be the text of nvdisasm -c for this very file"};
  Bytes code = binary.code(function);
  code = code.subspan(0, code.size() / kInstructionSize * kInstructionSize);
  return FunctionReader(*section, function, code).read();
}

class TextSource : public InstructionSource {
 public:
  TextSource(std::string text, std::string tool) : text_(std::move(text)), tool_(std::move(tool)) {}
  Result<std::vector<Instruction>> decode(const GpuBinary& binary,
                                          const GpuSymbol& function) override {
    return decode_from(text_, binary, function);
  }
  std::string description() const override { return tool_; }

 private:
  SassText text_;
  std::string tool_;
};

/// A file that is gone when the object is.
class TemporaryFile {
 public:
  static Result<TemporaryFile> create(Bytes content) {
    const char* folder = std::getenv("TMPDIR");
    std::string path = std::string(folder && *folder ? folder : "/tmp") + "/fathom-XXXXXX";
    int file = mkstemp(path.data());
    if (file < 0)
      return Error{ErrorKind::cannot_answer, "cannot create a temporary file", path,
                   "set TMPDIR to a folder that can be written"};
    close(file);
    TemporaryFile temporary(path);
    Result<Done> written = write_file(path, as_text(content));
    if (!written) return written.error();
    return temporary;
  }
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class ProgramSource : public InstructionSource {
 public:
  ProgramSource(std::string program, std::string description)
      : program_(std::move(program)), description_(std::move(description)) {}

  Result<std::vector<Instruction>> decode(const GpuBinary& binary,
                                          const GpuSymbol& function) override {
    // The pointer is kept, so that another binary cannot come to lie at the same address.
    std::unique_ptr<SassText>& text = texts_[binary.bytes];
    if (!text) {
      Result<TemporaryFile> file = TemporaryFile::create(*binary.bytes);
      if (!file) return file.error();
      Result<std::string> printed = run_nvdisasm(program_, file->path());
      if (!printed) {
        Error error = printed.error();
        error.where = binary.name + " (" + program_ + ")";
        return error;
      }
      text = std::make_unique<SassText>(std::move(*printed));
    }
    return decode_from(*text, binary, function);
  }
  std::string description() const override { return description_; }

 private:
  std::string program_;
  std::string description_;
  std::map<std::shared_ptr<const std::vector<uint8_t>>, std::unique_ptr<SassText>> texts_;
};

/// "nvdisasm 13.0.85" from what `nvdisasm --version` prints.
std::string version_of(std::string_view text) {
  size_t at = text.find(", V");
  if (at == text.npos) return "nvdisasm";
  text.remove_prefix(at + 3);
  return "nvdisasm " + std::string(text.substr(0, text.find_first_not_of("0123456789.")));
}

}  // namespace

Result<std::unique_ptr<InstructionSource>> nvdisasm_text(std::string text, std::string tool) {
  auto source = std::make_unique<TextSource>(std::move(text), std::move(tool));
  return std::unique_ptr<InstructionSource>(std::move(source));
}

Result<std::unique_ptr<InstructionSource>> nvdisasm_program() {
  std::optional<std::string> program = find_nvdisasm();
  if (!program) {
    const char* named = std::getenv("FATHOM_NVDISASM");
    if (named && *named)
      return Error{ErrorKind::cannot_answer, "FATHOM_NVDISASM names no program", named,
                   "set it to the path of nvdisasm, or unset it"};
    return Error{ErrorKind::cannot_answer, "nvdisasm was not found", "",
                 "install it with: pip install nvidia-cuda-nvdisasm, or set FATHOM_NVDISASM"};
  }
  Result<std::string> version = run_program({*program, "--version"});
  if (!version) return version.error();
  auto source = std::make_unique<ProgramSource>(*program, version_of(*version));
  return std::unique_ptr<InstructionSource>(std::move(source));
}

}  // namespace fathom
