// Strength Reduction (GPA paper, table 2): long-latency arithmetic that cheaper instructions could
// replace. Three shapes are told apart, since they call for different changes:
//   integer division and remainder by a value that the compiler does not know,
//   double precision that a float expression fell into (a double constant),
//   other conversions and special functions.

#include <algorithm>
#include <array>
#include <set>

#include "advice/math_functions.h"
#include "advice/optimizer.h"
#include "advice/what_if.h"
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

bool has_immediate(const Instruction& i) {
  return i.text.find(" 0x") != std::string::npos;
}

/// What the instructions of one source line of one function are.
struct LineShape {
  bool reciprocal = false, integer_to_float = false /* rounded up */, float_to_integer = false;
  bool widens = false, narrows = false, doubles = false;
  bool high_product = false, correction = false;

  void add(const Instruction& i) {
    reciprocal = reciprocal || (i.op_class == OpClass::special && has_modifier(i, "RCP"));
    integer_to_float = integer_to_float || (starts_with(i.opcode, "I2F") && has_modifier(i, "RP"));
    float_to_integer = float_to_integer || starts_with(i.opcode, "F2I");
    widens = widens || widens_float(i);
    narrows = narrows || narrows_double(i);
    doubles = doubles || i.op_class == OpClass::fp64;
    high_product = high_product || (starts_with(i.opcode, "IMAD.HI") && !has_immediate(i));
    correction = correction || starts_with(i.opcode, "ISETP.GE");
  }
  /// The compiler divides integers through the reciprocal of the divisor as a float.
  bool makes_reciprocal() const { return reciprocal && integer_to_float && float_to_integer; }
  /// It makes the reciprocal of a divisor once, where several lines divide by it.
  bool divides_again() const { return high_product && correction; }
  Shape shape(bool any_reciprocal) const {
    if (makes_reciprocal() || (any_reciprocal && divides_again())) return Shape::integer_division;
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

/// What the change would do to instructions of one function.
struct Affected {
  std::set<uint32_t> gone;     ///< not executed any more
  std::set<uint32_t> cheaper;  ///< still executed, but others wait less for them
};

/// Samples that belong to one shape in a whole kernel.
struct Match {
  Hotspots hotspots;   ///< all that the pattern costs
  double removed = 0;  ///< of them, what the change saves
  Change change;       ///< the issue slots and pipe cycles in `removed`

  Change saving() const {
    Change all = change;
    all.delay = std::max(0.0, removed - change.issue);
    return all;
  }
};

/// Of a division's two dozen instructions a multiplication, a shift and a correction remain, which
/// depend on each other as well. Measured on an H200 (samples/cuda/integer_division): 15% to 45%,
/// depending on what the waiting hid before.
constexpr double kDivisionKept = 0.25;

/// Of double operations between conversions the compiler fuses this part with others, once all is
/// float.
constexpr double kFusedInFloat = 1.0 / 3;

class StrengthReduction : public Optimizer {
 public:
  std::string_view kind() const override { return "strength-reduction"; }

  std::vector<Finding> match(const KernelView& view) const override {
    std::array<Match, 3> matches;
    const WhatIf& model = view.model();
    for (const FunctionPart& part : view.parts()) {
      if (is_division_routine(part.function->mangled)) {
        match_routine(view, part, matches[size_t(Shape::integer_division)]);
        continue;
      }
      std::array<Affected, 3> changes = classify(view, part);
      for (size_t s = 0; s < changes.size(); ++s)
        tally(view, model, part, static_cast<Shape>(s), changes[s], matches[s]);
    }
    std::vector<Finding> findings;
    for (size_t s = 0; s < matches.size(); ++s)
      if (!matches[s].hotspots.empty())
        findings.push_back(describe(view, model, static_cast<Shape>(s), matches[s]));
    return findings;
  }

 private:
  static std::array<Affected, 3> classify(const KernelView& view, const FunctionPart& part) {
    const auto& instructions = part.function->instructions;
    std::map<SourceLocation, LineShape> lines;
    std::map<SourceLocation, MathLine> math = math_lines(view, part);
    for (uint32_t i = 0; i < instructions.size(); ++i)
      lines[view.facts(part, i).at].add(instructions[i]);
    bool any_reciprocal = std::any_of(lines.begin(), lines.end(), [](const auto& line) {
      return line.second.makes_reciprocal();
    });
    std::array<Affected, 3> changes;
    for (uint32_t i = 0; i < instructions.size(); ++i) {
      const Instruction& instruction = instructions[i];
      Shape shape = lines[view.facts(part, i).at].shape(any_reciprocal);
      Affected& change = changes[size_t(shape)];
      switch (shape) {
        case Shape::integer_division:
          if (is_arithmetic(instruction.op_class)) change.gone.insert(i);
          break;
        case Shape::accidental_double:
          if (widens_float(instruction) || narrows_double(instruction)) change.gone.insert(i);
          if (instruction.op_class == OpClass::fp64) change.cheaper.insert(i);
          break;
        case Shape::other:
          if (math.count(view.facts(part, i).at)) break;  // fast_math.cpp's
          if (instruction.op_class == OpClass::conversion) change.gone.insert(i);
          if (instruction.op_class == OpClass::special ||
              instruction.op_class == OpClass::integer_wide)
            change.cheaper.insert(i);
          break;
      }
    }
    return changes;
  }

  /// Every sample on instructions that go away, and every stall elsewhere that they or cheaper ones
  /// cause.
  static void tally(const KernelView& view, const WhatIf& model, const FunctionPart& part,
                    Shape shape, const Affected& change, Match& match) {
    double saved = shape == Shape::integer_division ? 1 - kDivisionKept : 1;
    for (uint32_t i : change.gone) {
      double samples = double(part.function->samples[i].total());
      match.hotspots.add_own(view, part, i, samples);
      match.removed += part.fraction * samples * saved;
      Change own = model.without(view, part, i).scaled(saved);
      own.delay = 0;
      match.change += own;
    }
    if (shape == Shape::accidental_double)
      for (uint32_t i : change.cheaper) {
        Change own = model.without(view, part, i);
        match.change.math += own.math / 2;
        match.change.issue += own.issue * kFusedInFloat;
        match.removed += own.issue * kFusedInFloat;
      }
    for (const Blame& edge : part.function->blame) {
      if (edge.kind != StallClass::arithmetic && edge.kind != StallClass::throttle) continue;
      bool gone = change.gone.count(edge.producer), cheaper = change.cheaper.count(edge.producer);
      double samples = part.fraction * edge.stalls;
      double kept =
          shape == Shape::accidental_double && cheaper
              ? samples * float_wait_share(view, part.function->instructions[edge.producer])
              : 0;
      if (change.gone.count(edge.consumer)) {
        match.removed -= kept;  // what is left of a wait that went away with its instruction above
      } else if (gone || cheaper) {
        match.hotspots.add(view, part, edge);
        match.removed += samples * saved - kept;
      }
    }
  }

  /// The same operation in float makes others wait this part of the time.
  static double float_wait_share(const KernelView& view, const Instruction& wide) {
    double wait = std::max<double>(view.machine().latency_of("fp64").min, wide.control.stall);
    return wait > 0 ? std::min(1.0, view.machine().latency_of("fp32").min / wait) : 1;
  }

  /// 64-bit division is a routine that the compiler calls.
  static bool is_division_routine(std::string_view name) {
    if (name.find("__cuda_sm") == std::string_view::npos) return false;
    for (std::string_view operation : {"_div_u64", "_div_s64", "_rem_u64", "_rem_s64"})
      if (name.find(operation) != std::string_view::npos) return true;
    return false;
  }

  /// Its samples belong to the lines that call it, by the samples of the calls.
  static void match_routine(const KernelView& view, const FunctionPart& routine, Match& match) {
    double samples = double(routine.function->total().total());
    double calls = 0;
    auto each_call = [&](auto visit) {
      for (const FunctionPart& part : view.parts())
        for (uint32_t i = 0; i < part.function->instructions.size(); ++i)
          if (part.function->instructions[i].target_symbol == routine.function->mangled)
            visit(part, i, 1 + double(part.function->samples[i].total()));
    };
    each_call([&](const FunctionPart&, uint32_t, double weight) { calls += weight; });
    each_call([&](const FunctionPart& part, uint32_t i, double weight) {
      match.hotspots.add_own(view, {part.function, 1}, i,
                             routine.fraction * samples * weight / calls);
    });
    match.removed += routine.fraction * samples * (1 - kDivisionKept);
  }

  static Finding describe(const KernelView& view, const WhatIf& model, Shape shape,
                          const Match& match) {
    Finding finding;
    double matched = match.hotspots.stalls();
    finding.location = match.hotspots.hottest_cause();
    finding.related = related_of(match.hotspots, 3);
    finding.evidence = sample_evidence(view, matched);
    finding.evidence.push_back({"samples that the change saves", match.removed, "samples"});
    finding.speedup = estimate(view, model, match.saving(), 0.75, 1.25);
    double percent = 100 * matched / view.total();
    switch (shape) {
      case Shape::integer_division:
        describe_division(percent, finding);
        break;
      case Shape::accidental_double:
        describe_double(percent, finding);
        break;
      case Shape::other:
        describe_other(percent, finding);
        break;
    }
    return finding;
  }

  static void describe_division(double percent, Finding& finding) {
    finding.fix = "integer-division";
    finding.title = "Integer division or remainder by a value that the compiler does not know";
    finding.text = format(
        "%.0f%% of the kernel's samples are spent on integer division. The GPU has no instruction "
        "for it: the compiler "
        "converts the divisor to float, takes its reciprocal, converts back and corrects, about "
        "twenty instructions that "
        "wait for each other.",
        percent);
    finding.suggestions = {
        "make the divisor a compile-time constant (template parameter or constexpr): the division "
        "becomes a multiplication",
        "for a power of two use shift and mask",
        "for a divisor that does not change, compute a multiplier once and use __umulhi and a "
        "shift",
        "avoid the division: carry quotient and remainder along as counters"};
    finding.assumptions = {
        format("a multiplication, a shift and a correction remain of each division (%.0f%% of its "
               "samples)",
               100 * kDivisionKept)};
  }

  static void describe_double(double percent, Finding& finding) {
    finding.fix = "accidental-double";
    finding.title = "Double-precision arithmetic within a float computation";
    finding.text = format(
        "%.0f%% of the kernel's samples are spent on converting float to double and back, or wait "
        "for double-precision "
        "results that end up in a float. A constant such as 2.0 is double and drags the whole "
        "expression with it.",
        percent);
    finding.suggestions = {
        "write float constants with an f: 2.0f",
        "call the float versions of math functions: sqrtf, fabsf, expf",
        "find others with the compiler option -Xptxas --warn-on-double-precision-use"};
    finding.assumptions = {"single precision is enough",
                           "the conversions go away, and float results arrive sooner"};
  }

  static void describe_other(double percent, Finding& finding) {
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
    finding.assumptions = {"conversions go away, and so does all waiting for the others"};
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_strength_reduction() {
  return std::make_unique<StrengthReduction>();
}

}  // namespace fathom
