// Matrix products on the ordinary arithmetic pipes: tensor cores do the same at several times the
// rate, if half, bfloat16, TF32 or 8-bit operands will do (or double on a data-center GPU).

#include <algorithm>
#include <set>

#include "advice/loops.h"
#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "attribution/operand_text.h"
#include "base/text.h"

namespace fathom {
namespace {

bool is_multiply_add(const Instruction& instruction) {
  std::string_view base = instruction.base_opcode();
  return base == "FFMA" || base == "HFMA2" || base == "DFMA" || base == "IDP" || base == "FFMA2";
}

/// What the multiply-adds of one loop look like.
struct Products {
  uint32_t instructions = 0, multiply_adds = 0, loads = 0, shared_loads = 0;
  std::set<int> accumulators;  ///< registers that products are added to
  std::set<int> operands;      ///< registers multiplied, loaded in the loop
  std::string opcode;
};

void add_product(const Instruction& instruction, const std::set<int>& loaded, Products& products) {
  std::vector<Operand> operands = parse_operands(instruction.text);
  if (operands.size() < 4) return;
  for (int i : {0, 1, 2, 3})
    if (operands[size_t(i)].kind != Operand::Kind::general || operands[size_t(i)].number < 0)
      return;
  // The compiler renames accumulators, so that a sum may go from one register to another.
  if (!loaded.count(operands[1].number) || !loaded.count(operands[2].number)) return;
  ++products.multiply_adds;
  products.accumulators.insert(operands[0].number);
  products.operands.insert({operands[1].number, operands[2].number});
  products.opcode = std::string(instruction.base_opcode());
}

Products products_of(const AnalyzedFunction& function, uint32_t loop) {
  Products products;
  std::set<int> loaded;
  auto each = [&](auto visit) {
    for (uint32_t block : function.loops.loops[loop].blocks)
      for (uint32_t i = function.graph.blocks[block].first; i <= function.graph.blocks[block].last;
           ++i)
        visit(function.instructions[i]);
  };
  each([&](const Instruction& instruction) {
    ++products.instructions;
    bool load = instruction.op_class == OpClass::load && instruction.space != MemorySpace::constant;
    if (!load) return;
    ++products.loads;
    products.shared_loads += instruction.space == MemorySpace::shared;
    for (Register reg : instruction.defs)
      if (reg.file == RegisterFile::general) loaded.insert(reg.index);
  });
  // Converted values are loaded ones.
  each([&](const Instruction& instruction) {
    bool converts = instruction.base_opcode() == "HADD2" || instruction.base_opcode() == "PRMT" ||
                    instruction.op_class == OpClass::conversion;
    bool from_load = std::any_of(
        instruction.uses.begin(), instruction.uses.end(),
        [&](Register reg) { return reg.file == RegisterFile::general && loaded.count(reg.index); });
    if (!converts || !from_load) return;
    for (Register reg : instruction.defs)
      if (reg.file == RegisterFile::general) loaded.insert(reg.index);
  });
  each([&](const Instruction& instruction) {
    if (is_multiply_add(instruction)) add_product(instruction, loaded, products);
  });
  return products;
}

/// A block of a matrix product: operands are used several times, or come from tiles.
bool is_matrix_like(const Products& products) {
  if (products.multiply_adds < 8 || products.multiply_adds < products.instructions / 4)
    return false;
  bool outer_product =
      products.accumulators.size() >= 4 && products.multiply_adds > products.operands.size();
  bool tiles = products.shared_loads >= 4 && products.shared_loads == products.loads;
  return outer_product || tiles;
}

class TensorCores : public Optimizer {
 public:
  std::string_view kind() const override { return "tensor-cores"; }

  std::vector<Finding> match(const KernelView& view) const override {
    std::vector<Finding> findings;
    for (const FunctionPart& part : view.parts()) {
      bool uses_them =
          std::any_of(part.function->instructions.begin(), part.function->instructions.end(),
                      [](const Instruction& i) { return i.op_class == OpClass::tensor; });
      if (uses_them) continue;
      for (const LoopView& loop : view_loops(view, part)) {
        Products products;
        if (loop.innermost) products = products_of(*part.function, loop.loop);
        if (is_matrix_like(products)) describe(view, part, loop, products, findings);
      }
    }
    return findings;
  }

 private:
  /// A fragment instruction does 4,096 or more multiply-adds, a warp's FFMA does 32.
  static constexpr double kGone = 0.9;

  static void describe(const KernelView& view, const FunctionPart& part, const LoopView& loop,
                       const Products& products, std::vector<Finding>& findings) {
    const AnalyzedFunction& function = *part.function;
    const WhatIf& model = view.model();
    Change change;
    Hotspots hotspots;
    for (uint32_t block : function.loops.loops[loop.loop].blocks)
      for (uint32_t i = function.graph.blocks[block].first; i <= function.graph.blocks[block].last;
           ++i) {
        const Instruction& instruction = function.instructions[i];
        bool shared =
            instruction.op_class == OpClass::load && instruction.space == MemorySpace::shared;
        if (!is_multiply_add(instruction) && !shared) continue;
        change += model.without(view, part, i).scaled(shared ? kGone / 2 : kGone);
        hotspots.add_own(view, part, i, double(function.samples[i].total()));
      }
    constexpr double kLeastShare = 0.2;
    if (hotspots.stalls() < kLeastShare * view.total()) return;
    const LoopFacts& facts = view.profile().loops[function.first_loop + loop.loop];
    Finding finding;
    finding.fix = products.opcode == "DFMA" ? "double-tensor" : "mma";
    finding.location = hotspots.hottest_cause();
    finding.related.push_back(
        {"loop", facts.at,
         format("%u multiply-adds into %zu sums among %u instructions", products.multiply_adds,
                products.accumulators.size(), products.instructions)});
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.evidence.push_back(
        {"multiply-adds in the loop", double(products.multiply_adds), "instructions"});
    finding.evidence.push_back(
        {"independent sums", double(products.accumulators.size()), "registers"});
    finding.speedup = estimate(view, model, change, 0.4, 1.1);
    finding.title = "A matrix product without tensor cores";
    finding.text = format(
        "The loop at line %u multiplies loaded values and adds them to %zu sums, as a block of a "
        "matrix product does: %.0f%% of the kernel's samples are on its multiply-adds and on the "
        "loads of its operands. Tensor cores do such work in far fewer instructions.",
        facts.at.line, products.accumulators.size(), 100 * hotspots.stalls() / view.total());
    finding.suggestions = {
        "call a library: cuBLAS (cublasGemmEx), CUTLASS or cuDNN",
        "use nvcuda::wmma fragments (half, bfloat16, TF32; double on data-center GPUs) for the "
        "inner tile",
        "for float data allow TF32: 10 bits of mantissa in the products, float sums"};
    finding.assumptions = {
        "the loop is a matrix product, whose operands may be half, bfloat16 or TF32 "
        "(double: as they are)",
        "tiles can be shaped to multiples of 8 or 16"};
    findings.push_back(std::move(finding));
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_tensor_cores() {
  return std::make_unique<TensorCores>();
}

}  // namespace fathom
