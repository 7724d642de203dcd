// Strength Reduction (GPA paper, table 2): long-latency arithmetic that cheaper instructions could
// replace. Three shapes are told apart, since they call for different changes:
//   integer division and remainder by a value that the compiler does not know,
//   double precision that a float expression fell into (a double constant),
//   other conversions and special functions.

#include <array>
#include <set>

#include "advice/estimators.h"
#include "advice/optimizer.h"
#include "base/text.h"

namespace fathom {
namespace {

enum class Shape { integer_division, accidental_double, other };

bool has_modifier(const Instruction& instruction, std::string_view modifier) {
  for (std::string_view part : split(instruction.opcode, '.'))
    if (part == modifier) return true;
  return false;
}

bool widens_float(const Instruction& i) {
  return i.op_class == OpClass::conversion && starts_with(i.opcode, "F2F.F64.F32");
}
bool narrows_double(const Instruction& i) {
  return i.op_class == OpClass::conversion && starts_with(i.opcode, "F2F.F32.F64");
}

/// What the instructions of one source line of one function are.
struct LineShape {
  bool reciprocal = false, integer_to_float = false, float_to_integer = false;
  bool widens = false, narrows = false, doubles = false;

  void add(const Instruction& i) {
    reciprocal = reciprocal || (i.op_class == OpClass::special && has_modifier(i, "RCP"));
    integer_to_float = integer_to_float || starts_with(i.opcode, "I2F");
    float_to_integer = float_to_integer || starts_with(i.opcode, "F2I");
    widens = widens || widens_float(i);
    narrows = narrows || narrows_double(i);
    doubles = doubles || i.op_class == OpClass::fp64;
  }
  /// The compiler divides integers through the reciprocal of the divisor as a float.
  Shape shape() const {
    if (reciprocal && integer_to_float && float_to_integer) return Shape::integer_division;
    if ((widens || narrows) && doubles) return Shape::accidental_double;
    return Shape::other;
  }
};

bool is_arithmetic(OpClass c) {
  switch (c) {
    case OpClass::integer:
    case OpClass::integer_multiply:
    case OpClass::integer_wide:
    case OpClass::conversion:
    case OpClass::special:
    case OpClass::move:
    case OpClass::predicate:
      return true;
    default:
      return false;
  }
}

/// Instructions that the change would remove, by function and shape.
struct Removal {
  std::set<uint32_t> gone;     ///< not executed any more
  std::set<uint32_t> cheaper;  ///< still executed, but without making others wait
};

class StrengthReduction : public Optimizer {
 public:
  std::string_view kind() const override { return "strength-reduction"; }

  std::vector<Finding> match(const KernelView& view) const override {
    std::array<Hotspots, 3> matched;
    for (const FunctionPart& part : view.parts()) {
      std::array<Removal, 3> removals = classify(view, part);
      for (size_t s = 0; s < removals.size(); ++s) tally(view, part, removals[s], matched[s]);
    }
    std::vector<Finding> findings;
    for (size_t s = 0; s < matched.size(); ++s)
      if (!matched[s].empty())
        findings.push_back(describe(view, static_cast<Shape>(s), matched[s]));
    return findings;
  }

 private:
  static std::array<Removal, 3> classify(const KernelView& view, const FunctionPart& part) {
    const auto& instructions = part.function->instructions;
    std::map<SourceLocation, LineShape> lines;
    for (uint32_t i = 0; i < instructions.size(); ++i)
      lines[view.facts(part, i).at].add(instructions[i]);
    std::array<Removal, 3> removals;
    for (uint32_t i = 0; i < instructions.size(); ++i) {
      const Instruction& instruction = instructions[i];
      Shape shape = lines[view.facts(part, i).at].shape();
      Removal& removal = removals[static_cast<size_t>(shape)];
      switch (shape) {
        case Shape::integer_division:
          if (is_arithmetic(instruction.op_class)) removal.gone.insert(i);
          break;
        case Shape::accidental_double:
          if (widens_float(instruction) || narrows_double(instruction)) removal.gone.insert(i);
          if (instruction.op_class == OpClass::fp64) removal.cheaper.insert(i);
          break;
        case Shape::other:
          if (instruction.op_class == OpClass::conversion ||
              instruction.op_class == OpClass::special ||
              instruction.op_class == OpClass::integer_wide)
            removal.cheaper.insert(i);
          break;
      }
    }
    return removals;
  }

  /// Every sample on instructions that go away, and every stall elsewhere that they cause.
  static void tally(const KernelView& view, const FunctionPart& part, const Removal& removal,
                    Hotspots& matched) {
    for (uint32_t i : removal.gone)
      matched.add_own(view, part, i, double(part.function->samples[i].total()));
    for (const Blame& edge : part.function->blame) {
      if (removal.gone.count(edge.consumer)) continue;  // counted with the instruction
      bool caused = removal.gone.count(edge.producer) || removal.cheaper.count(edge.producer);
      if (caused && (edge.kind == StallClass::arithmetic || edge.kind == StallClass::throttle))
        matched.add(view, part, edge);
    }
  }

  static Finding describe(const KernelView& view, Shape shape, const Hotspots& matched) {
    Finding finding;
    finding.location = matched.hottest_cause();
    finding.related = related_of(matched, 3);
    finding.evidence = sample_evidence(view, matched.stalls());
    // A division does not vanish: a multiplication, a shift and a correction remain of its two
    // dozen instructions.
    double kept = shape == Shape::integer_division ? 0.15 : 0;
    finding.speedup = with_sampling_error(view.total(), matched.stalls(), [&](double samples) {
      return stall_elimination(view.total(), samples * (1 - kept));
    });
    double percent = 100 * matched.stalls() / view.total();
    switch (shape) {
      case Shape::integer_division:
        finding.fix = "integer-division";
        finding.title = "Integer division or remainder by a value that the compiler does not know";
        finding.text = format(
            "%.0f%% of the kernel's samples are spent on integer division. The GPU has no "
            "instruction for it: the compiler "
            "converts the divisor to float, takes its reciprocal, converts back and corrects, "
            "about twenty dependent "
            "instructions.",
            percent);
        finding.suggestions = {
            "make the divisor a compile-time constant (template parameter or constexpr): division "
            "becomes a multiplication",
            "for a power of two use shift and mask",
            "for a divisor that does not change in the loop compute a multiplier once and use "
            "__umulhi",
            "avoid the division: carry quotient and remainder along as counters"};
        finding.assumptions = {
            "a multiplication and a correction remain of each division (15% of its samples)"};
        break;
      case Shape::accidental_double:
        finding.fix = "accidental-double";
        finding.title = "Double-precision arithmetic within a float computation";
        finding.text = format(
            "%.0f%% of the kernel's samples are spent on converting float to double and back, or "
            "wait for "
            "double-precision results that end up in a float. A constant such as 2.0 is double and "
            "drags the whole "
            "expression with it.",
            percent);
        finding.suggestions = {
            "write float constants with an f: 2.0f",
            "call the float versions of math functions: sqrtf, fabsf, expf",
            "find others with the compiler option -Xptxas --warn-on-double-precision-use"};
        finding.assumptions = {
            "the same arithmetic in float makes nobody wait, and the conversions go away"};
        break;
      case Shape::other:
        finding.fix = "long-latency-arithmetic";
        finding.title = "Waiting for conversions and special functions";
        finding.text = format(
            "%.0f%% of the kernel's samples wait for long-latency arithmetic: type conversions, "
            "reciprocals, square roots, "
            "exponentials or bit counting, which run on a slow unit.",
            percent);
        finding.suggestions = {
            "keep one type in the hot loop, so that nothing is converted",
            "compute values that do not change in the loop before it",
            "use the fast intrinsics (__expf, __fdividef, rsqrtf) where their accuracy is enough"};
        finding.assumptions = {"all waiting for these instructions goes away"};
        break;
    }
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_strength_reduction() {
  return std::make_unique<StrengthReduction>();
}

}  // namespace fathom
