#include "prediction/kernel_source.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "binary/containers.h"
#include "binary/decoder.h"

namespace fathom {
namespace {

/// A folder that is gone at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base && *base ? base : "/tmp") + "/fathom-XXXXXX";
    if (!mkdtemp(path_.data())) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::optional<std::string> find_tool(const std::string& name) {
  if (std::optional<std::string> found = find_on_path(name)) return found;
  const std::string usual = "/usr/local/cuda/bin/" + name;
  if (access(usual.c_str(), X_OK) == 0) return usual;
  return std::nullopt;
}

Result<GpuBinary> open_cubin(const std::string& path, const std::string& name) {
  Result<std::vector<uint8_t>> bytes = read_file(path);
  if (!bytes) return bytes.error();
  return open_gpu_binary(std::make_shared<const std::vector<uint8_t>>(std::move(*bytes)), name);
}

Result<GpuBinary> compile(const std::vector<std::string>& command, const std::string& output,
                          const std::string& name) {
  if (Result<std::string> done = run_program(command); !done) return done.error();
  return open_cubin(output, name);
}

class Opener {
 public:
  Opener(const std::string& path, const SourceOptions& options) : options_(options) {
    source_.path = path;
  }

  Result<KernelSource> open() {
    Result<Done> done = ends_with(source_.path, ".cu") ? from_cuda() : from_bytes();
    if (!done) return done.error();
    if (Result<Done> named = choose(); !named) return named.error();
    return std::move(source_);
  }

 private:
  Result<Done> from_cuda() {
    if (!is_regular_file(source_.path)) return read_file(source_.path).error();
    const std::optional<std::string> nvcc = find_tool("nvcc");
    if (!nvcc)
      return Error{ErrorKind::cannot_answer, "CUDA source needs nvcc, which is not on PATH",
                   source_.path, "compile it elsewhere with nvcc -ptx -lineinfo and give the .ptx"};
    const TemporaryFolder folder;
    const std::string output = folder.path() + "/kernels.cubin";
    const std::filesystem::path parent = std::filesystem::path(source_.path).parent_path();
    Result<GpuBinary> binary =
        compile({*nvcc, "-cubin", "-lineinfo", "-std=c++17", "-arch=" + options_.arch,
                 "-I" + (parent.empty() ? "." : parent.string()), source_.path, "-o", output},
                output, source_.path);
    if (!binary)
      return Error{ErrorKind::bad_input, binary.error().what, source_.path, "nvcc must compile it"};
    source_.binary = std::move(*binary);
    return Done{};
  }

  Result<Done> from_bytes() {
    Result<std::vector<uint8_t>> bytes = read_file(source_.path);
    if (!bytes) return bytes.error();
    const bool is_elf = bytes->size() > 4 && (*bytes)[0] == 0x7f && (*bytes)[1] == 'E';
    if (ends_with(source_.path, ".ptx") || looks_like_ptx(as_text(*bytes)))
      return from_ptx(std::string(as_text(*bytes)));
    const Bytes all(*bytes);
    Result<GpuImages> images = list_gpu_images(all, source_.path);
    if (!images) return images.error();
    const GpuImage* best = nullptr;
    for (const GpuImage& each : images->images)
      if (fits(each) && (!best || rank(each) > rank(*best))) best = &each;
    if (!best)
      return Error{ErrorKind::cannot_answer, "there is no code for " + options_.arch, source_.path,
                   is_elf ? "name the device that it was compiled for: --device"
                          : "give PTX, a cubin, a fat binary or CUDA source"};
    auto unpacked = unpack(*best, source_.path);
    if (!unpacked) return unpacked.error();
    if (best->kind == ImageKind::ptx) return from_ptx(std::string(as_text(**unpacked)));
    Result<GpuBinary> binary = open_gpu_binary(*unpacked, describe(*best, source_.path));
    if (!binary) return binary.error();
    source_.binary = std::move(*binary);
    return Done{};
  }

  static bool looks_like_ptx(std::string_view text) {
    const std::string_view head = text.substr(0, 4096);
    return head.find('\0') == head.npos && head.find(".version") != head.npos;
  }

  uint32_t wanted() const { return static_cast<uint32_t>(std::atoi(options_.arch.c_str() + 3)); }
  bool fits(const GpuImage& image) const {
    if (image.encrypted) return false;
    if (image.kind == ImageKind::ptx) return image.compute <= wanted();
    return image.kind == ImageKind::cubin && image.compute / 10 == wanted() / 10 &&
           image.compute <= wanted();
  }
  static uint32_t rank(const GpuImage& image) {
    return image.compute * 2 + (image.kind == ImageKind::cubin ? 1000 : 0);
  }

  Result<Done> from_ptx(std::string text) {
    source_.ptx_text = std::make_shared<const std::string>(std::move(text));
    const auto keep = [this](const PtxFunction& each) {
      return !each.is_entry || options_.kernel.empty() ||
             each.name.find(options_.kernel) != each.name.npos;
    };
    Result<PtxModule> module = parse_ptx(*source_.ptx_text, source_.path, keep);
    if (!module) return module.error();
    source_.ptx = std::move(*module);
    const std::optional<std::string> ptxas = options_.ptxas ? options_.ptxas : find_tool("ptxas");
    if (!ptxas || *ptxas == "none") {
      source_.note = "there is no ptxas";
      return Done{};
    }
    const TemporaryFolder folder;
    const std::string input = folder.path() + "/kernels.ptx",
                      output = folder.path() + "/kernels.cubin";
    if (Result<Done> written = write_file(input, *source_.ptx_text); !written)
      return written.error();
    const std::string target(source_.ptx->target);
    // Code for one architecture only ("sm_90a") keeps its letter.
    const std::string arch = starts_with(target, options_.arch) ? target : options_.arch;
    Result<GpuBinary> binary =
        compile({*ptxas, "-arch=" + arch, "--generate-line-info", input, "-o", output}, output,
                source_.path);
    if (!binary) {
      source_.note = "ptxas did not compile it: " + binary.error().what;
    } else {
      source_.binary = std::move(*binary);
    }
    return Done{};
  }

  Result<Done> choose() {
    std::vector<std::string> all;
    if (source_.binary) {
      for (const GpuSymbol& each : source_.binary->functions)
        if (each.is_kernel) all.push_back(each.name);
    } else {
      for (const PtxFunction& each : source_.ptx->functions)
        if (each.is_entry && each.has_body) all.emplace_back(each.name);
    }
    const std::string& wanted = options_.kernel;
    for (const std::string& each : all)
      if (each == wanted) return source_.kernels = {each}, Done{};
    for (const std::string& each : all)
      if (short_name(demangle(each)) == wanted) source_.kernels.push_back(each);
    if (!source_.kernels.empty()) return Done{};
    for (const std::string& each : all)
      if (each.find(wanted) != each.npos || demangle(each).find(wanted) != std::string::npos)
        source_.kernels.push_back(each);
    if (!source_.kernels.empty()) return Done{};
    std::vector<std::string> names;
    for (const std::string& each : all) names.push_back(short_name(demangle(each)));
    return Error{
        ErrorKind::usage,
        all.empty() ? "there is no kernel in it" : "no kernel is called \"" + wanted + "\"",
        source_.path,
        all.empty() ? "device functions alone are not launched" : "there are " + join(names, ", ")};
  }

  const SourceOptions& options_;
  KernelSource source_;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// The last word of "const float* __restrict__ x" or "int (&y)[4] = 3".
std::string last_word(std::string_view text) {
  text = text.substr(0, text.find('='));
  const size_t bracket = text.find('[');
  if (bracket != text.npos) text = text.substr(0, bracket);
  while (!text.empty() && !is_word(text.back())) text.remove_suffix(1);
  size_t first = text.size();
  while (first > 0 && is_word(text[first - 1])) --first;
  return std::string(text.substr(first));
}

}  // namespace

Result<KernelSource> open_kernels(const std::string& path, const SourceOptions& options) {
  return Opener(path, options).open();
}

std::vector<std::string> parameter_names(std::string_view source, const std::string& kernel) {
  std::string name = short_name(demangle(kernel));
  name = name.substr(0, name.find('<'));
  name = name.substr(name.rfind(':') + 1);
  if (name.empty()) return {};
  for (size_t at = source.find(name); at != source.npos; at = source.find(name, at + 1)) {
    size_t open = at + name.size();
    if (at > 0 && is_word(source[at - 1])) continue;
    while (open < source.size() && std::isspace(static_cast<unsigned char>(source[open]))) ++open;
    if (open >= source.size() || source[open] != '(') continue;
    const size_t before = source.find_last_of(";}", at);
    const std::string_view head = source.substr(before == source.npos ? 0 : before,
                                                at - (before == source.npos ? 0 : before));
    if (head.find("__global__") == head.npos) continue;
    std::vector<std::string> names;
    int depth = 0;
    size_t start = open + 1;
    for (size_t i = open; i < source.size(); ++i) {
      const char c = source[i];
      depth += (c == '(' || c == '<' || c == '[') - (c == ')' || c == '>' || c == ']');
      if (!(c == ',' && depth == 1) && depth != 0) continue;
      const std::string word = last_word(source.substr(start, i - start));
      if (!word.empty()) names.push_back(word);
      start = i + 1;
      if (depth == 0) return names;
    }
  }
  return {};
}

std::vector<Parameter> KernelSource::parameters(const std::string& kernel) const {
  std::vector<Parameter> list;
  std::vector<std::string> files{path};
  const PtxFunction* function = ptx ? ptx->find(kernel) : nullptr;
  if (function) {
    uint64_t offset = 0;
    for (const PtxVariable& each : function->parameters) {
      const uint64_t size = std::max<uint64_t>(1, each.size),
                     align = each.align ? each.align : std::min<uint64_t>(size, 8);
      offset = (offset + align - 1) / align * align;
      list.push_back({std::string(each.name),
                      static_cast<uint32_t>(offset),
                      static_cast<uint32_t>(size),
                      each.type.kind == PtxType::f,
                      {}});
      offset += size;
    }
    for (const PtxFile& each : ptx->files) files.emplace_back(each.name);
  }
  if (binary) {
    const GpuSymbol* symbol = binary->find(kernel);
    const KernelParameters recorded =
        symbol ? kernel_parameters(*binary, *symbol) : KernelParameters{};
    if (list.empty())
      for (const KernelParameter& each : recorded.list)
        list.push_back({"", each.offset, each.size, false, {}});
    for (const std::string& each : binary->lines.files) files.push_back(each);
  }
  // Where the compiler found a source, or beside the file that was given.
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (size_t i = 0, count = files.size(); i < count; ++i)
    files.push_back((folder / std::filesystem::path(files[i]).filename()).string());
  for (const std::string& file : files) {
    if (!is_regular_file(file) || ends_with(file, ".ptx") || ends_with(file, ".cubin")) continue;
    Result<std::string> text = read_text_file(file);
    if (!text) continue;
    const std::vector<std::string> names = parameter_names(*text, kernel);
    if (names.size() != list.size()) continue;
    for (size_t i = 0; i < list.size(); ++i) list[i].name = names[i];
    break;
  }
  return list;
}

namespace {

/// "@64M", "@64M:f32": bytes, or units of 1024, and what is in them.
Result<Done> read_buffer(const ArgumentValue& argument, Parameter& parameter) {
  char* end = nullptr;
  const char* text = argument.text.c_str() + 1;
  const double number = std::strtod(text, &end);
  double unit = 1;
  static constexpr char kUnits[] = "KMG";
  for (int i = 0; i < 3; ++i)
    if (*end == kUnits[i]) unit = std::pow(1024.0, i + 1);
  if (unit > 1) ++end;
  const bool has_contents = *end == ':';
  if (end == text || !(*end == '\0' || has_contents) || !(number >= 1) || number * unit > 1e15)
    return Error{ErrorKind::usage, "\"" + argument.text + "\" is no size of a buffer",
                 "--arg " + argument.key, "write e.g. --arg table=@64M or table=@64M:f32"};
  if (has_contents) {
    Result<BufferContents> contents =
        read_contents(end + 1, static_cast<uint64_t>(number * unit), "--arg " + argument.key);
    if (!contents) return contents.error();
    parameter.contents = *contents;
  }
  parameter.buffer_bytes = static_cast<uint64_t>(number * unit);
  return Done{};
}

}  // namespace

Result<Done> apply_arguments(const std::vector<ArgumentValue>& arguments,
                             std::vector<Parameter>& parameters) {
  for (const ArgumentValue& argument : arguments) {
    Parameter* found = nullptr;
    const bool is_position =
        !argument.key.empty() && argument.key.find_first_not_of("0123456789") == std::string::npos;
    if (is_position) {
      const unsigned long position = std::strtoul(argument.key.c_str(), nullptr, 10);
      if (position < parameters.size()) found = &parameters[position];
    }
    for (Parameter& each : parameters)
      if (!is_position && each.name == argument.key) found = &each;
    if (!found) {
      std::vector<std::string> names;
      for (size_t i = 0; i < parameters.size(); ++i)
        names.push_back(std::to_string(i) +
                        (parameters[i].name.empty() ? "" : " (" + parameters[i].name + ")"));
      return Error{ErrorKind::usage, "the kernel has no argument \"" + argument.key + "\"", "--arg",
                   names.empty() ? "it takes none" : "there are " + join(names, ", ")};
    }
    if (argument.text[0] == '@') {
      if (found->size != 8)
        return Error{ErrorKind::usage, "the argument is no pointer", "--arg " + argument.key,
                     "sizes (@) are those of buffers"};
      Result<Done> read = read_buffer(argument, *found);
      if (!read) return read;
      continue;
    }
    const char* text = argument.text.c_str();
    char* end = nullptr;
    const bool is_hex = starts_with(argument.text, "0x");
    const bool is_real =
        found->is_float || (!is_hex && argument.text.find_first_of(".eE") != std::string::npos);
    if (is_real) {
      const double value = std::strtod(text, &end);
      found->value = found->size == 8 ? std::bit_cast<uint64_t>(value)
                                      : std::bit_cast<uint32_t>(static_cast<float>(value));
    } else {
      found->value = argument.text[0] == '-' ? static_cast<uint64_t>(std::strtoll(text, &end, 0))
                                             : std::strtoull(text, &end, 0);
    }
    if (end == text || *end != '\0')
      return Error{ErrorKind::usage, "\"" + argument.text + "\" is no number",
                   "--arg " + argument.key, "write e.g. --arg n=4096"};
    if (found->size < 8) *found->value &= (uint64_t{1} << 8 * found->size) - 1;
  }
  return Done{};
}

}  // namespace fathom
