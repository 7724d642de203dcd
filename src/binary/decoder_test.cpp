#include "binary/decoder.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "base/text.h"
#include "binary/sass_text.h"
#include "binary/test_support.h"

namespace fathom {
namespace {

std::vector<Instruction> decode(const GpuBinary& binary, InstructionSource& source,
                                const std::string& function) {
  Result<std::vector<Instruction>> instructions = source.decode(binary, *binary.find(function));
  FATHOM_INVARIANT(instructions.ok());
  return std::move(*instructions);
}

const Instruction* first(const std::vector<Instruction>& instructions, std::string_view opcode) {
  for (const Instruction& instruction : instructions)
    if (instruction.base_opcode() == opcode) return &instruction;
  return nullptr;
}

/// Sets an environment variable for one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(Decoder, OffsetsCountFromTheFunctionAndPaddingIsLeftOut) {
  GpuBinary binary = open_fixture("inlining.sm_90.cubin");
  auto source = fixture_source("inlining.sm_90.sass");
  for (const GpuSymbol& function : binary.functions) {
    Result<std::vector<Instruction>> instructions = source->decode(binary, function);
    ASSERT_TRUE(instructions.ok());
    ASSERT_FALSE(instructions->empty());
    for (size_t i = 0; i < instructions->size(); ++i)
      EXPECT_EQ((*instructions)[i].offset, 16 * i) << function.name;
    EXPECT_LE(instructions->back().offset + 16, function.size);
    EXPECT_NE(instructions->back().opcode, "NOP");
  }
}

TEST(Decoder, BranchTargetsLieWithinTheFunction) {
  GpuBinary binary = open_fixture("inlining.sm_90.cubin");
  auto source = fixture_source("inlining.sm_90.sass");
  std::vector<Instruction> reduce = decode(binary, *source, "_Z6reduceIfEvPT_PKS0_i");
  size_t branches = 0;
  for (const Instruction& instruction : reduce) {
    if (instruction.flow != Flow::branch) continue;
    ++branches;
    ASSERT_TRUE(instruction.target) << instruction.text;
    EXPECT_EQ(*instruction.target % 16, 0u);
    EXPECT_LE(*instruction.target, reduce.back().offset);
  }
  EXPECT_GT(branches, 2u);
}

TEST(Decoder, CallsNameTheirFunction) {
  GpuBinary binary = open_fixture("inlining.sm_90.cubin");
  auto source = fixture_source("inlining.sm_90.sass");
  std::vector<Instruction> nested = decode(binary, *source, "nested");
  const Instruction* call = first(nested, "CALL");
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->flow, Flow::call);
  const GpuSymbol* callee = binary.find(call->target_symbol);
  ASSERT_NE(callee, nullptr) << call->target_symbol;
  EXPECT_EQ(call->target, callee->offset - binary.find("nested")->offset);
}

TEST(Decoder, SwitchesHaveTheirTargets) {
  GpuBinary binary = open_fixture("inlining.sm_90.cubin");
  auto source = fixture_source("inlining.sm_90.sass");
  std::vector<Instruction> choose = decode(binary, *source, "choose");
  const Instruction* jump = first(choose, "BRX");
  ASSERT_NE(jump, nullptr);
  EXPECT_EQ(jump->flow, Flow::indirect_branch);
  EXPECT_GE(jump->table.size(), 3u);
  for (uint64_t target : jump->table) EXPECT_LE(target, choose.back().offset);
}

TEST(Decoder, BarriersComeFromTheControlField) {
  GpuBinary binary = open_fixture("tiny.sm_90.cubin");
  auto source = fixture_source("tiny.sm_90.sass");
  std::vector<Instruction> tiny = decode(binary, *source, "tiny");
  const Instruction* load = first(tiny, "LDG");
  ASSERT_NE(load, nullptr);
  ASSERT_LT(load->control.write_barrier, 6);
  Register barrier{RegisterFile::barrier, load->control.write_barrier};
  EXPECT_TRUE(std::binary_search(load->defs.begin(), load->defs.end(), barrier));
  size_t waiting = 0;
  for (const Instruction& instruction : tiny)
    if (instruction.offset > load->offset)
      waiting += std::binary_search(instruction.uses.begin(), instruction.uses.end(), barrier);
  EXPECT_GT(waiting, 0u) << "somebody waits for what was loaded";
}

TEST(Decoder, TextOfAnotherBinaryIsAnError) {
  GpuBinary binary = open_fixture("inlining.sm_90.cubin");
  auto source = fixture_source("tiny.sm_90.sass");
  EXPECT_EQ(source->description(), "a recorded nvdisasm");
  Result<std::vector<Instruction>> instructions = source->decode(binary, *binary.find("nested"));
  ASSERT_FALSE(instructions.ok());
  EXPECT_NE(instructions.error().message().find("no section .text.nested"), std::string::npos);
}

TEST(SassText, PassesOverWhatItDoesNotKnow) {
  SassText text(
      "\t.target\tsm_200\n\t.novelty\t1\n"
      "\t.section\t.text.k,\"ax\",@progbits\n"
      "k:\n.text.k:\n.L_new$kind:\n"
      "        /*0000*/ @P0 MOV R1, R2 ;   // a comment\n"
      "\t//## File \"x.cu\", line 3\n"
      "        /*zz*/ BROKEN ;\n"
      "        /*0010*/ BRX R2 -0x10   (*\"BRANCH_TARGETS .L_1,.L_2\"*);\r\n"
      "        /*0020*/ NOP;\n"
      ".L_end:\n"
      "\t.section\t.nv.shared.k,\"aw\"\n"
      "        /*0000*/ NOT CODE OF k ;\n");
  const SassSection* section = text.section(".text.k");
  ASSERT_NE(section, nullptr);
  ASSERT_EQ(section->lines.size(), 3u);
  EXPECT_EQ(section->lines[0].text, "@P0 MOV R1, R2");
  EXPECT_EQ(section->lines[1].text, "BRX R2 -0x10");
  EXPECT_EQ(section->lines[1].annotation, "(*\"BRANCH_TARGETS .L_1,.L_2\"*)");
  EXPECT_EQ(section->labels.at(".L_new$kind"), 0u);
  EXPECT_EQ(section->labels.at(".L_end"), 0x30u);
  EXPECT_EQ(text.section(".text.other"), nullptr);
}

TEST(Nvdisasm, AMissingOneIsExplained) {
  Variable named("FATHOM_NVDISASM", "/nonexistent/nvdisasm");
  EXPECT_FALSE(find_nvdisasm());
  auto source = nvdisasm_program();
  ASSERT_FALSE(source.ok());
  EXPECT_NE(source.error().message().find("FATHOM_NVDISASM"), std::string::npos);
}

TEST(Nvdisasm, AnUnknownArchitectureAsksForANewerOne) {
  TestFolder folder;
  std::string program = folder.path() + "/nvdisasm";
  ASSERT_TRUE(
      write_file(program,
                 "#!/bin/sh\necho \"nvdisasm fatal   : Cannot decode architecture 'SM199'\" "
                 ">&2\nexit 1\n")
          .ok());
  ASSERT_TRUE(run_program({"chmod", "+x", program}).ok());
  Result<std::string> text = run_nvdisasm(program, "x.cubin");
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message().find("Cannot decode architecture 'SM199'"), std::string::npos);
  EXPECT_NE(text.error().hint.find("newer nvdisasm"), std::string::npos);
}

TEST(Nvdisasm, RunsOnceForABinary) {
  // A stand-in that prints the recorded text and notes that it ran.
  TestFolder folder;
  std::string program = folder.path() + "/nvdisasm";
  std::string script =
      "#!/bin/sh\nif [ \"$1\" = --version ]; then\n"
      "  echo 'Cuda compilation tools, release 13.0, V13.0.85'\n  exit\nfi\n"
      "cmp -s \"$2\" " +
      cubin_fixture("inlining.sm_90.cubin") +
      " || exit 4\n"
      "echo run >> " +
      folder.path() +
      "/runs\n"
      "cat " +
      cubin_fixture("inlining.sm_90.sass") + "\n";
  ASSERT_TRUE(write_file(program, script).ok());
  ASSERT_TRUE(run_program({"chmod", "+x", program}).ok());
  Variable named("FATHOM_NVDISASM", program);
  auto source = nvdisasm_program();
  ASSERT_TRUE(source.ok()) << source.error().message();
  EXPECT_EQ((*source)->description(), "nvdisasm 13.0.85");
  GpuBinary binary = open_fixture("inlining.sm_90.cubin");
  for (const GpuSymbol& function : binary.functions)
    EXPECT_TRUE((*source)->decode(binary, function).ok());
  EXPECT_EQ(*read_text_file(folder.path() + "/runs"), "run\n");
  GpuBinary other = open_fixture("tiny.sm_90.cubin");
  Result<std::vector<Instruction>> failed = (*source)->decode(other, other.functions[0]);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message().find("exited with 4"), std::string::npos);
}

}  // namespace
}  // namespace fathom
