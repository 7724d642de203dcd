#include "binary/ptx.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "base/text.h"

namespace fathom {
namespace {

const std::string kHead = ".version 8.5\n.target sm_90\n.address_size 64\n";

PtxModule parsed(const std::string& text) {
  auto module = parse_ptx(text, "k.ptx");
  EXPECT_TRUE(module.ok()) << module.error().message();
  return module.ok() ? std::move(module).value() : PtxModule{};
}

/// The first instruction of a kernel with this body.
struct Body {
  explicit Body(const std::string& body)
      : text(kHead + ".visible .entry k(\n.param .u64 k_a,\n.param .u32 k_n\n)\n{\n" + body +
             "\n}\n"),
        module(parsed(text)) {}
  const PtxFunction& kernel() const { return module.functions.front(); }
  const PtxInstruction& at(size_t i) const { return kernel().instructions.at(i); }
  const PtxOpcode& opcode(size_t i) const { return module.opcodes[at(i).opcode]; }
  const PtxOperand& operand(size_t i, size_t which) const {
    return kernel().operands.at(at(i).first_operand + which);
  }
  std::string register_name(const PtxOperand& operand) const {
    return std::string(kernel().registers.at(operand.name).name);
  }

  std::string text;
  PtxModule module;
};

std::string error_of(const std::string& text) {
  const auto module = parse_ptx(text, "k.ptx");
  return module.ok() ? "" : module.error().message();
}
std::string error_in(const std::string& body) {
  return error_of(kHead + ".entry k()\n{\n" + body + "\n}\n");
}

TEST(Ptx, ReadsTheHeadOfAModule) {
  const std::string text =
      "// made by hand\n.version 9.0\n.target sm_90a, debug\n.address_size 64\n"
      ".file 1 \"/src/a.cu\", 1700000000, 123\n.file\t2 \"b.h\"\n";
  const PtxModule module = parsed(text);
  EXPECT_EQ(module.version_major, 9u);
  EXPECT_EQ(module.version_minor, 0u);
  EXPECT_EQ(module.target, "sm_90a");
  EXPECT_EQ(module.address_bits, 64u);
  EXPECT_EQ(module.file_name(1), "/src/a.cu");
  EXPECT_EQ(module.file_name(2), "b.h");
  EXPECT_EQ(module.file_name(3), "");
}

TEST(Ptx, ReadsVersionsFrom6To9) {
  for (const char* version : {"6.0", "6.5", "7.8", "8.7", "9.0"}) {
    const std::string text = std::string(".version ") + version + "\n.target sm_70\n";
    const PtxModule module = parsed(text);
    EXPECT_EQ(std::to_string(module.version_major) + "." + std::to_string(module.version_minor),
              version);
  }
}

TEST(Ptx, ReadsVariablesOfEachSpace) {
  const std::string text =
      kHead +
      ".const .align 4 .b8 coef[64] = {1, 2, 0xff};\n.global .align 8 .v2 .f32 pairs[3][5];\n"
      ".extern .shared .align 16 .b8 buffer[];\n.global .u32 a, b = 3;\n"
      ".global .align 8 .u64 where[2] = {generic(coef), coef+4};\n.global .texref t;\n";
  const PtxModule module = parsed(text);
  ASSERT_EQ(module.variables.size(), 7u);
  EXPECT_EQ(module.variables[0].space, PtxSpace::constant);
  EXPECT_EQ(module.variables[0].size, 64u);
  EXPECT_EQ(module.variables[1].size, 3u * 5 * 8);
  EXPECT_EQ(module.variables[1].align, 8u);
  EXPECT_EQ(module.variables[2].space, PtxSpace::shared);
  EXPECT_EQ(module.variables[2].size, 0u);
  EXPECT_EQ(module.variables[4].name, "b");
}

TEST(Ptx, ReadsAKernelsHead) {
  const std::string text = kHead +
                           ".visible .entry _Z1kPfi(\n.param .u64 .ptr .global .align 4 p0,\n"
                           ".param .align 4 .b8 p1[12]\n)\n.maxntid 256, 2, 1\n.reqntid 128\n"
                           ".minnctapersm 3\n.maxnreg 40\n.reqnctapercluster 2, 1, 1\n{ ret; }\n"
                           ".func (.param .b32 r) f(.param .b32 x)\n.noreturn ;\n";
  const PtxModule module = parsed(text);
  const PtxFunction* kernel = module.find("_Z1kPfi");
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->is_entry && kernel->has_body);
  ASSERT_EQ(kernel->parameters.size(), 2u);
  EXPECT_TRUE(kernel->parameters[0].is_pointer);
  EXPECT_EQ(kernel->parameters[0].size, 8u);
  EXPECT_EQ(kernel->parameters[1].size, 12u);
  EXPECT_EQ(kernel->max_threads[1], 2u);
  EXPECT_EQ(kernel->required_threads[0], 128u);
  EXPECT_EQ(kernel->required_threads[2], 1u);
  EXPECT_EQ(kernel->min_blocks, 3u);
  EXPECT_EQ(kernel->max_registers, 40u);
  EXPECT_FALSE(module.find("f")->has_body);
  EXPECT_EQ(module.find("f")->results.size(), 1u);
  EXPECT_EQ(module.find("g"), nullptr);
}

TEST(Ptx, ReadsGuardsTypesAndImmediates) {
  const Body body(
      ".reg .pred %p<3>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<2>;\n"
      "@!%p2 fma.rn.f32 %f1, %f2, 0f3F800000, -0d4000000000000000;\nadd.s64 %rd1, %rd1, -0x10;\n"
      "mov.u32 %f3, 0b101;\nmov.f32 %f3, 1.5;\nmov.u32 %f3, (3*4)+~0;\nmov.u32 %f3, 017U;");
  EXPECT_TRUE(body.at(0).guard_negated);
  EXPECT_EQ(body.kernel().registers[body.at(0).guard].name, "%p2");
  EXPECT_EQ(body.opcode(0).base(), "fma");
  EXPECT_TRUE(body.opcode(0).has("rn"));
  EXPECT_EQ(body.opcode(0).types.at(0), (PtxTypeName{PtxType::f, 32}));
  EXPECT_EQ(std::bit_cast<double>(body.operand(0, 2).value), 1.0);
  EXPECT_EQ(std::bit_cast<double>(body.operand(0, 3).value), -2.0);
  EXPECT_EQ(body.operand(1, 2).value, -16);
  EXPECT_EQ(body.operand(2, 1).value, 5);
  EXPECT_EQ(std::bit_cast<double>(body.operand(3, 1).value), 1.5);
  EXPECT_EQ(body.operand(4, 1).value, 11);
  EXPECT_EQ(body.operand(5, 1).value, 15);
  EXPECT_EQ(body.at(0).line, 12u);
  EXPECT_EQ(body.at(1).line, 13u);
}

TEST(Ptx, ReadsAddressesVectorsAndPairs) {
  const Body body(
      ".reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n.reg .pred p, q;\n.shared .align 4 .b8 s[64];\n"
      "ld.global.nc.v4.u32 {%r1, %r2, _, %r4}, [%rd1+-8];\nld.param.u64 %rd1, [k_a];\n"
      "st.shared.b32 [s+4], %r1;\nsetp.lt.and.s32 p|q, %r1, 3, !p;\n"
      "shfl.sync.down.b32 %r5|p, %r1, 16, 31, -1;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%r1], [%rd1, {%r2, %r3}], [%r4];\nmov.u32 %r1, %ctaid.y;\nld.shared.u32 %r1, [16];");
  EXPECT_EQ(body.operand(0, 0).kind, PtxOperandKind::vector);
  EXPECT_EQ(body.operand(0, 0).count, 4u);
  EXPECT_EQ(body.operand(0, 3).kind, PtxOperandKind::none);
  EXPECT_EQ(body.operand(0, 5).kind, PtxOperandKind::address);
  EXPECT_EQ(body.operand(0, 5).base, PtxOperandKind::register_);
  EXPECT_EQ(body.operand(0, 5).value, -8);
  EXPECT_EQ(body.module.symbols[body.operand(1, 1).name], "k_a");
  EXPECT_EQ(body.operand(2, 0).value, 4);
  EXPECT_EQ(body.operand(3, 0).kind, PtxOperandKind::pair);
  EXPECT_EQ(body.register_name(body.operand(3, 2)), "q");
  EXPECT_TRUE(body.operand(3, 5).negated);
  EXPECT_EQ(body.operand(4, 0).kind, PtxOperandKind::pair);
  EXPECT_EQ(body.operand(4, 5).value, 31);
  EXPECT_TRUE(body.opcode(5).has("shared::cluster"));
  EXPECT_EQ(body.operand(5, 1).count, 3u) << "the vector and its two parts";
  EXPECT_EQ(body.operand(6, 1).kind, PtxOperandKind::special);
  EXPECT_EQ(body.operand(6, 1).element, 2u);
  EXPECT_EQ(body.operand(7, 1).base, PtxOperandKind::none);
  EXPECT_EQ(body.operand(7, 1).value, 16);
}

TEST(Ptx, NamesOfABlockHideThoseOutside) {
  const Body body(
      ".reg .b32 %r<3>;\nL: mov.u32 %r1, 1;\n{ .reg .f32 %r1; mov.f32 %r1, 0f00000000; bra L; L: "
      "}\n"
      "{ L: bra L; }\nbra L;");
  const PtxFunction& kernel = body.kernel();
  EXPECT_NE(body.operand(0, 0).name, body.operand(1, 0).name);
  EXPECT_EQ(kernel.registers[body.operand(1, 0).name].type.kind, PtxType::f);
  EXPECT_EQ(kernel.labels[body.operand(2, 0).name].instruction, 3u);
  EXPECT_EQ(kernel.labels[body.operand(3, 0).name].instruction, 3u);
  EXPECT_EQ(kernel.labels[body.operand(4, 0).name].instruction, 0u);
}

TEST(Ptx, ReadsTablesOfBranchesAndCalls) {
  const Body body(
      ".reg .b32 %r<3>;\n.reg .b64 %rd<3>;\nts: .branchtargets A, B;\nbrx.idx %r1, ts;\nA: "
      "ret;\nB: "
      "{\n.param .b32 param0;\nst.param.b32 [param0+0], %r1;\ncall.uni (%r2), f, (param0, "
      "%r1);\n}\n"
      "proto : .callprototype (.param .b32 _) _ (.param .b64 _);\ncall (%r2), %rd1, (param0), "
      "proto;\n"
      "call f;\nexit;");
  const PtxFunction& kernel = body.kernel();
  const PtxLabel& table = kernel.labels[body.operand(0, 1).name];
  ASSERT_EQ(table.targets.size(), 2u);
  EXPECT_EQ(kernel.labels[table.targets[0]].instruction, 1u);
  EXPECT_EQ(kernel.labels[table.targets[1]].instruction, 2u);
  EXPECT_EQ(body.operand(3, 0).kind, PtxOperandKind::list);
  EXPECT_EQ(body.module.symbols[body.operand(3, 2).name], "f");
  EXPECT_EQ(body.operand(3, 3).count, 2u);
  EXPECT_EQ(body.operand(4, 2).kind, PtxOperandKind::register_);
}

TEST(Ptx, KeepsLinesAndTheirInlining) {
  const Body body(
      ".reg .b32 %r<3>;\n.loc 1 10 3\nmov.u32 %r1, 1;\n"
      ".loc 2 7 1, function_name $L__info0, inlined_at 1 10 3\nmov.u32 %r1, 2;\n"
      ".loc 3 5 1, function_name $L__info1+4, inlined_at 2 7 1\nmov.u32 %r1, 3;\n"
      ".loc 1 10 3\nmov.u32 %r1, 4;");
  const auto& rows = body.kernel().locations;
  EXPECT_EQ(rows[body.at(0).location].line, 10u);
  const PtxLocation& inner = rows[body.at(2).location];
  EXPECT_EQ(inner.file, 3u);
  const PtxLocation& middle = rows[inner.inlined_at];
  EXPECT_EQ(middle.line, 7u);
  EXPECT_EQ(rows[middle.inlined_at].line, 10u);
  EXPECT_EQ(body.module.symbols[middle.function_name], "$L__info0");
  EXPECT_EQ(body.at(3).location, body.at(0).location);
}

TEST(Ptx, PassesOverDebugSectionsAndComments) {
  const std::string text =
      kHead +
      "/* two\nlines */ .section .debug_str\n{\n$L__info0:\n.b8 95,90\n.b8 0\n}\n"
      ".entry k() { /* ; */ ret; // }\n}\n.section\t.debug_loc { }\n";
  EXPECT_EQ(parsed(text).functions.size(), 1u);
}

TEST(Ptx, KeepsOnlyTheBodiesThatAreAskedFor) {
  const std::string text = kHead + ".entry a() { ret; }\n.entry b() { ret; }\n";
  auto module = parse_ptx(text, "k.ptx", [](const PtxFunction& each) { return each.name == "b"; });
  ASSERT_TRUE(module.ok());
  EXPECT_TRUE(module->find("a")->instructions.empty());
  EXPECT_EQ(module->find("b")->instructions.size(), 1u);
}

// Errors.

TEST(PtxErrors, NameFileLineAndWhatWasExpected) {
  EXPECT_NE(error_of("").find("k.ptx:1: expected \".version\" at the start, found the end of the"),
            std::string::npos)
      << error_of("");
  EXPECT_NE(error_of("\n\nint main() {}").find("k.ptx:3: expected \".version\""),
            std::string::npos);
  EXPECT_NE(
      error_of(kHead + ".entry k() { ret; ").find("k.ptx:4: expected '}' at the end of \"k\""),
      std::string::npos);
  EXPECT_NE(error_of(kHead + ".entry k( .param .u32 ) { }")
                .find("expected a variable's name, found \")\""),
            std::string::npos);
  EXPECT_NE(
      error_of(kHead + ".bogus x;").find("expected a directive of a module, found \".bogus\""),
      std::string::npos);
  EXPECT_NE(
      error_in("add.s32 %r1, 1, 2;").find("k.ptx:6: expected a declared register, found \"%r1\""),
      std::string::npos)
      << error_in("add.s32 %r1, 1, 2;");
  EXPECT_NE(error_in(".reg .b32 %r<2>;\nadd.s32 %r2, 1, 2;").find("found \"%r2\""),
            std::string::npos);
  EXPECT_NE(error_in(".reg .b32 %r<2>;\n\nmov.u32 %r1, 1\nret;")
                .find("k.ptx:9: expected ',' or ';' behind"),
            std::string::npos);
  EXPECT_NE(error_in("bra nowhere;").find("expected a label \"nowhere\", which line 6 uses"),
            std::string::npos);
  EXPECT_NE(error_in(".reg .b99 %r;").find("expected a type of registers, found \".b99\""),
            std::string::npos);
  EXPECT_NE(error_in(".reg .b32 %r1;\nld.global.u32 %r1, [%r1;").find("expected ']'"),
            std::string::npos);
  EXPECT_NE(error_in("A: A: ret;").find("expected another name"), std::string::npos);
  EXPECT_NE(error_in("mov.u32 _, 0fXYZ;").find("expected a number"), std::string::npos);
}

TEST(PtxErrors, HugeDeclarationsCostNothing) {
  EXPECT_EQ(error_in(".reg .b32 %r<4000000000>;\nmov.u32 %r3999999999, 1;"), "");
  EXPECT_NE(error_in(".shared .b64 s[1000000000000][1000000000000];").find("fits into memory"),
            std::string::npos);
  EXPECT_NE(error_in(std::string(100'000, '{')).find("fewer blocks"), std::string::npos);
  EXPECT_NE(error_in("mov.u32 _, " + std::string(100'000, '(')).find("fewer parentheses"),
            std::string::npos);
  EXPECT_NE(error_in("mov.u32 " + std::string(100'000, '{')).find("fewer braces"),
            std::string::npos);
}

TEST(PtxErrors, NoMutationCrashes) {
  const std::string good =
      kHead +
      ".visible .entry k(.param .u64 a, .param .u32 n)\n.maxntid 64, 1, 1\n{\n.reg .pred %p<2>;\n"
      ".reg .b32 %r<5>;\n.reg .b64 %rd<3>;\n.loc 1 2 3, function_name $x, inlined_at 1 1 1\n"
      "ld.param.u64 %rd1, [a];\nsetp.lt.s32 %p1|_, %r1, -3;\n@!%p1 bra L;\n"
      "{ .reg .f32 t; ld.global.v2.f32 {t, t}, [%rd1+4]; }\nL: t: .branchtargets L, t;\n"
      "call (%r1), f, (%r2, 0f00000000);\nbrx.idx %r1, t;\nret;\n}\n";
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    std::string bad = good;
    for (unsigned i = 0; i <= random() % 3; ++i)
      bad[random() % bad.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    const auto module = parse_ptx(bad, "k.ptx");
    const bool told = module.ok() || starts_with(module.error().where, "k.ptx:");
    EXPECT_TRUE(told);
  }
}

}  // namespace
}  // namespace fathom
