// Fast Math (GPA paper, table 2): precise functions of the math library, of which the compiler has
// approximations that take a fraction of the instructions.

#include <algorithm>

#include "advice/math_functions.h"
#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

/// Of the arithmetic on a line that calls such a function this part is the user's own.
constexpr double kOwnArithmetic = 0.2;

class FastMath : public Optimizer {
 public:
  std::string_view kind() const override { return "fast-math"; }

  std::vector<Finding> match(const KernelView& view) const override {
    const WhatIf& model = view.model();
    Hotspots hotspots;
    Change change;
    std::map<std::string, double> functions;  // samples on lines that call them
    std::string fast;
    for (const FunctionPart& part : view.parts())
      for (const auto& [at, line] : math_lines(view, part)) {
        change += removed(view, model, part, line);
        double samples = 0;
        for (uint32_t i : line.instructions) {
          double own = double(part.function->samples[i].total());
          hotspots.add_own(view, part, i, own);
          samples += own;
        }
        for (const MathCalls& call : line.calls) {
          functions[call.function->name] += samples;
          if (fast.find(call.function->fast) == std::string::npos)
            fast += (fast.empty() ? "" : "; ") + std::string(call.function->fast);
        }
      }
    if (hotspots.empty()) return {};
    return {describe(view, model, hotspots, change, functions, fast)};
  }

 private:
  /// Of a line's arithmetic what neither the fast versions nor the user's own operations need.
  static Change removed(const KernelView& view, const WhatIf& model, const FunctionPart& part,
                        const MathLine& line) {
    Change all;
    double most = 0;
    for (uint32_t i : line.instructions) {
      all += model.without(view, part, i);
      most = std::max(most, part.fraction * double(part.function->samples[i].issued()));
    }
    double executed = most > 0 ? all.issue / most : double(line.instructions.size());
    double fast = 0, cycles = 0, fast_cycles = 0;
    for (const MathCalls& call : line.calls) {
      fast += call.calls * call.function->fast_instructions;
      cycles += call.calls * call.function->cycles;
      fast_cycles += call.calls * call.function->fast_cycles;
    }
    double kept = kOwnArithmetic + (1 - kOwnArithmetic) * std::min(1.0, fast / executed);
    Change gone = all.scaled(1 - kept);
    gone.delay = all.delay * (1 - kOwnArithmetic) * (1 - fast_cycles / cycles);
    return gone;
  }

  static Finding describe(const KernelView& view, const WhatIf& model, const Hotspots& hotspots,
                          const Change& change, const std::map<std::string, double>& functions,
                          const std::string& fast) {
    Finding finding;
    finding.location = hotspots.hottest_cause();
    std::vector<std::string> names;
    for (const auto& [name, samples] : functions) names.push_back(name);
    std::string list = join(names, ", ");
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.evidence.push_back(
        {"samples that the fast versions save", change.issue + change.delay, "samples"});
    finding.speedup = estimate(view, model, change, 0.75, 1.15);
    finding.title = "Precise math functions: " + list;
    finding.text = format(
        "%.0f%% of the kernel's samples are on lines that call precise math functions or operators "
        "(%s). The compiler expands each into a polynomial with checks for special values; the "
        "approximations of the special function unit take a few instructions.",
        100 * hotspots.stalls() / view.total(), list.c_str());
    finding.suggestions = {
        "use the intrinsics on the hot lines: " + fast,
        "or compile the file with -use_fast_math (it also flushes denormal numbers to zero)",
        "divide by a value that does not change once, and multiply by its reciprocal"};
    finding.assumptions = {
        "the accuracy of the approximations is enough (about 2 ulp for division, "
        "2^-21 relative for exp and log, absolute 2^-21 for sin and cos)"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_fast_math() {
  return std::make_unique<FastMath>();
}

}  // namespace fathom
