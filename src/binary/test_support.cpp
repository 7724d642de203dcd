#include "binary/test_support.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"

namespace fathom {
namespace {

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

const char* name_of(Flow flow) {
  static constexpr const char* kNames[] = {
      "next", "branch", "indirect_branch", "call", "indirect_call", "return_", "exit"};
  return kNames[static_cast<size_t>(flow)];
}

std::string describe_flow(const Instruction& instruction) {
  if (instruction.flow == Flow::next) return "";
  std::string text = format(" %s", name_of(instruction.flow));
  if (instruction.target) text += format(" to %llx", (unsigned long long)*instruction.target);
  if (!instruction.target_symbol.empty()) text += " " + instruction.target_symbol;
  for (uint64_t target : instruction.table) text += format(" %llx", (unsigned long long)target);
  return text;
}

std::string describe(const Instruction& instruction) {
  const Control& control = instruction.control;
  std::string text =
      format("  %04llx  %-52s %s", (unsigned long long)instruction.offset, instruction.text.c_str(),
             instruction.known ? std::string(class_name(instruction.op_class)).c_str() : "unknown");
  if (instruction.access_bytes) text += format(" %u bytes", instruction.access_bytes);
  text += describe_flow(instruction);
  text += " | defs " + describe(instruction.defs) + " | uses " + describe(instruction.uses);
  text += format(" | stall %u%s", control.stall, control.yield ? " yield" : "");
  if (control.reuse) text += format(" reuse %x", control.reuse);
  return text;
}

}  // namespace

std::string cubin_fixture(const std::string& name) {
  return std::string(FATHOM_SOURCE_DIR) + "/tests/fixtures/cubin/" + name;
}

std::shared_ptr<const std::vector<uint8_t>> fixture_bytes(const std::string& name) {
  Result<std::vector<uint8_t>> bytes = read_file(cubin_fixture(name));
  FATHOM_INVARIANT(bytes.ok());
  return std::make_shared<const std::vector<uint8_t>>(std::move(*bytes));
}

GpuBinary open_fixture(const std::string& name) {
  Result<GpuBinary> binary = open_gpu_binary(fixture_bytes(name), name);
  FATHOM_INVARIANT(binary.ok());
  return std::move(*binary);
}

std::unique_ptr<InstructionSource> fixture_source(const std::string& name) {
  Result<std::string> text = read_text_file(cubin_fixture(name));
  FATHOM_INVARIANT(text.ok());
  auto source = nvdisasm_text(std::move(*text), "a recorded nvdisasm");
  FATHOM_INVARIANT(source.ok());
  return std::move(*source);
}

std::string describe_row(const LineTables& lines, const LineRow& row) {
  std::string text = format("%s:%u", file_name(lines.files[row.file]).c_str(), row.line);
  for (int32_t at = row.context; at >= 0; at = lines.inlines[at].parent) {
    const InlinedCall& call = lines.inlines[at];
    text += format(" < %s:%u %s", file_name(lines.files[call.file]).c_str(), call.line,
                   call.function.c_str());
  }
  return text;
}

std::string describe(const std::vector<Register>& registers) {
  std::vector<std::string> names;
  for (Register reg : registers) names.push_back(to_string(reg));
  return join(names, " ");
}

std::string describe(const GpuBinary& binary, InstructionSource& source) {
  std::string text = binary.arch + "\n";
  for (const std::string& file : binary.lines.files) text += "file " + file + "\n";
  for (const GpuSymbol& function : binary.functions) {
    text +=
        format("\n%s %s: section %u, offset 0x%llx, %llu bytes",
               function.is_kernel ? "kernel" : "function", function.name.c_str(), function.section,
               (unsigned long long)function.offset, (unsigned long long)function.size);
    if (function.is_kernel) {
      KernelResources resources = kernel_resources(binary, function);
      text += format(", %u registers, %u bytes shared, %u bytes stack, at most %u threads",
                     resources.registers, resources.static_shared, resources.stack,
                     resources.max_threads);
    }
    text += "\n";
    Result<std::vector<Instruction>> instructions = source.decode(binary, function);
    if (!instructions) return text + instructions.error().message();
    const LineRow* last = nullptr;
    for (const Instruction& instruction : *instructions) {
      const LineRow* row =
          binary.lines.find(function.section, function.offset + instruction.offset);
      if (row != last) text += row ? describe_row(binary.lines, *row) + "\n" : "no line\n";
      last = row;
      text += describe(instruction) + "\n";
    }
  }
  return text;
}

std::vector<uint8_t> flips_of(size_t at) {
  const std::vector<uint8_t> all = {0x01, 0x80, 0xff};
#ifdef FATHOM_SANITIZED
  return {all[at % all.size()]};
#else
  (void)at;
  return all;
#endif
}

TestFolder::TestFolder() : path_(testing::TempDir() + "fathom_binary_XXXXXX") {
  FATHOM_INVARIANT(mkdtemp(path_.data()) != nullptr);
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace fathom
