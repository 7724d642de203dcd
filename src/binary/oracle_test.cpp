// Compares with nvdisasm, instruction by instruction, on cubins that nvcc makes here. Skipped where
// nvcc or nvdisasm is missing. FATHOM_TEST_CUBINS (paths with colons between) adds cubins.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/text.h"
#include "binary/elf.h"
#include "binary/life_ranges.h"
#include "binary/test_support.h"

namespace fathom {
namespace {

std::optional<std::string> find_nvcc() {
  if (std::optional<std::string> path = find_on_path("nvcc")) return path;
  if (is_regular_file("/usr/local/cuda/bin/nvcc")) return "/usr/local/cuda/bin/nvcc";
  return std::nullopt;
}

class Oracle : public testing::Test {
 protected:
  void SetUp() override {
    nvdisasm_ = find_nvdisasm().value_or("");
    nvcc_ = find_nvcc().value_or("");
    if (nvdisasm_.empty()) GTEST_SKIP() << "needs nvdisasm: pip install nvidia-cuda-nvdisasm";
    if (nvcc_.empty()) GTEST_SKIP() << "needs nvcc";
  }

  /// Compiles a fixture's source; the path of the cubin, or empty if nvcc does not take `arch`.
  std::string compile(const std::string& source, const std::string& arch) {
    std::string cubin = folder_.path() + "/" + source + "." + arch + ".cubin";
    Result<std::string> done = run_program({nvcc_, "-w", "-std=c++17", "-arch=" + arch, "-lineinfo",
                                            "-O3", "-cubin", "-o", cubin, cubin_fixture(source)});
    return done ? cubin : "";
  }

  std::vector<std::string> cubins(const std::vector<const char*>& archs) {
    std::vector<std::string> paths;
    for (const char* arch : archs)
      for (const char* source : {"inlining.cu", "opcodes.cu"})
        paths.push_back(compile(source, arch));
    if (const char* more = std::getenv("FATHOM_TEST_CUBINS"))
      for (std::string_view path : split(more, ':')) paths.emplace_back(path);
    std::erase(paths, "");
    return paths;
  }

  GpuBinary open(const std::string& path) {
    Result<std::vector<uint8_t>> bytes = read_file(path);
    FATHOM_INVARIANT(bytes.ok());
    Result<GpuBinary> binary =
        open_gpu_binary(std::make_shared<const std::vector<uint8_t>>(std::move(*bytes)), path);
    FATHOM_INVARIANT(binary.ok());
    return std::move(*binary);
  }

  std::string nvdisasm_, nvcc_;
  TestFolder folder_;
};

/// `File "/a/b.h", line 3 inlined at "/a/c.cu", line 4` as "/a/b.h:3".
std::string place_of(std::string_view comment) {
  size_t name = comment.find('"') + 1;
  size_t name_end = comment.find('"', name);
  size_t line = comment.find("line ", name_end) + 5;
  std::string_view digits = comment.substr(line);
  digits = digits.substr(0, digits.find_first_not_of("0123456789"));
  return std::string(comment.substr(name, name_end - name)) + ":" + std::string(digits);
}

/// Where `nvdisasm -c -gi` says that an instruction comes from, innermost place first.
struct Place {
  std::string chain;
  bool whole = false;  ///< printed at this instruction
};
using Places = std::map<std::string, std::map<uint64_t, Place>>;
Places read_places(std::string_view text) {
  Places places;
  std::string section, chain;
  bool fresh = false;
  for (std::string_view line : split(text, '\n')) {
    if (starts_with(line, "\t.section\t")) {
      section = line.substr(10, line.find(',') - 10);
      chain.clear();
    } else if (starts_with(line, "\t//## File ")) {
      chain = (fresh ? chain + " < " : "") + place_of(line);
      fresh = true;
    } else if (starts_with(trim(line), "/*")) {
      std::string offset(trim(line).substr(2, 12));
      places[section][std::strtoull(offset.c_str(), nullptr, 16)] = {chain, fresh};
      fresh = false;
    }
  }
  return places;
}

std::string places_of(const LineTables& lines, const LineRow* row) {
  if (!row) return "";
  std::string text = format("%s:%u", lines.files[row->file].c_str(), row->line);
  for (int32_t at = row->context; at >= 0; at = lines.inlines[at].parent) {
    const InlinedCall& call = lines.inlines[at];
    text += format(" < %s:%u", lines.files[call.file].c_str(), call.line);
  }
  return text;
}

TEST_F(Oracle, LinesAndInliningAgreeForEveryInstruction) {
  size_t compared = 0;
  for (const std::string& path : cubins({"sm_80", "sm_90"})) {
    SCOPED_TRACE(path);
    GpuBinary binary = open(path);
    Result<ElfFile> elf = ElfFile::open(*binary.bytes, path);
    Result<std::string> text = run_program({nvdisasm_, "-c", "-gi", path});
    ASSERT_TRUE(text.ok()) << text.error().message();
    Places places = read_places(*text);
    size_t differences = 0;
    for (uint32_t section = 0; section < elf->section_count(); ++section) {
      auto known = places.find(std::string(elf->section_name(section)));
      if (known == places.end()) continue;
      for (const auto& [offset, place] : known->second) {
        ++compared;
        if (differences > 5) break;
        std::string ours = places_of(binary.lines, binary.lines.find(section, offset));
        std::string theirs = place.chain;
        // nvdisasm prints nothing where the same line was inlined by way of another call.
        if (!place.whole) {
          ours = ours.substr(0, ours.find(" < "));
          theirs = theirs.substr(0, theirs.find(" < "));
        }
        EXPECT_EQ(ours, theirs) << known->first << " " << std::hex << offset;
        differences += ours != theirs;
      }
    }
  }
  EXPECT_GT(compared, 10000u);
}

std::vector<Register> without_barriers(std::vector<Register> registers) {
  std::erase_if(registers, [](Register reg) { return reg.file == RegisterFile::barrier; });
  return registers;
}

/// Where nvdisasm's life ranges are known to say something else: calls (it takes the ABI's word for
/// what is overwritten), moves of all predicates at once and uniform registers from UR63 on (it
/// does not mark them), the predicate that fills a copy with zeros (it takes it for a result), and
/// the handle of TLD.
bool oracle_is_silent(const Instruction& instruction) {
  std::string_view base = instruction.base_opcode();
  if (base == "CALL" || base == "R2P" || base == "P2R" || base == "TLD") return true;
  if (instruction.opcode.find("ZFILL") != std::string::npos) return true;
  auto high = [](Register reg) { return reg.file == RegisterFile::uniform && reg.index >= 63; };
  return std::any_of(instruction.defs.begin(), instruction.defs.end(), high) ||
         std::any_of(instruction.uses.begin(), instruction.uses.end(), high);
}

TEST_F(Oracle, RegistersAgreeWithLifeRanges) {
  size_t compared = 0;
  std::vector<std::string> paths = cubins({"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"});
  for (const char* arch : {"sm_90a", "sm_100a", "sm_120a"})
    paths.push_back(compile("opcodes_specific.cu", arch));
  std::erase(paths, "");
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    GpuBinary binary = open(path);
    Result<ElfFile> elf = ElfFile::open(*binary.bytes, path);
    Result<std::string> text = run_nvdisasm(nvdisasm_, path);
    ASSERT_TRUE(text.ok()) << text.error().message();
    Result<std::string> marked = run_program({nvdisasm_, "-c", "-lrm", "narrow", path});
    ASSERT_TRUE(marked.ok()) << marked.error().message();
    LifeRanges ranges = read_life_ranges(*marked);
    auto source = nvdisasm_text(std::move(*text), nvdisasm_);
    size_t differences = 0;
    for (const GpuSymbol& function : binary.functions) {
      auto known = ranges.find(std::string(elf->section_name(function.section)));
      Result<std::vector<Instruction>> instructions = (*source)->decode(binary, function);
      ASSERT_TRUE(instructions.ok());
      for (const Instruction& instruction : *instructions) {
        EXPECT_TRUE(instruction.known) << instruction.text;
        if (known == ranges.end() || oracle_is_silent(instruction)) continue;
        auto marks = known->second.find(function.offset + instruction.offset);
        if (marks == known->second.end()) continue;
        ++compared;
        std::vector<Register> defs = without_barriers(instruction.defs);
        std::vector<Register> uses = without_barriers(instruction.uses);
        if ((defs == marks->second.defs && uses == marks->second.uses) || ++differences > 5)
          continue;
        EXPECT_EQ(describe(defs), describe(marks->second.defs))
            << "defined by " << instruction.text;
        EXPECT_EQ(describe(uses), describe(marks->second.uses)) << "used by " << instruction.text;
      }
    }
    EXPECT_EQ(differences, 0u);
  }
  EXPECT_GT(compared, 10000u);
}

TEST_F(Oracle, ArchitecturesAgree) {
  for (const char* arch : {"sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120"}) {
    std::string path = compile("tiny.cu", arch);
    ASSERT_FALSE(path.empty()) << arch;
    EXPECT_EQ(open(path).arch, arch);
  }
}

}  // namespace
}  // namespace fathom
