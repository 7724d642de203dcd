#include "advice/math_functions.h"

#include <algorithm>

#include "base/text.h"

namespace fathom {
namespace {

// By scripts/count_math.py.
constexpr MathFunction kExp = {"expf", "__expf", 2, 54, 24};
constexpr MathFunction kLog = {"logf", "__logf", 2, 89, 26};
constexpr MathFunction kPow = {"powf", "__powf", 3, 197, 47};
constexpr MathFunction kSine = {"sinf, cosf or tanf", "__sinf, __cosf, __tanf", 2, 94, 26};
constexpr MathFunction kTanh = {"tanhf", "tanh.approx (-use_fast_math)", 1, 71, 22};
constexpr MathFunction kDivide = {"division", "__fdividef", 2, 56, 26};
constexpr MathFunction kReciprocal = {"reciprocal", "__fdividef(1, x)", 1, 68, 22};
constexpr MathFunction kRoot = {"sqrtf", "-prec-sqrt=false", 1, 61, 22};

struct Mark {
  const char* text;  ///< a part of an instruction's text
  const MathFunction* function;
};
/// Each occurs once in the common path of its function.
constexpr Mark kMarks[] = {
    {"12582913", &kExp},
    {"0.0032181653659790754318", &kPow},
    {"0.14084610342979431152", &kLog},  // natural and decimal
    {"0.1716887056827545166", &kLog},   // binary
    {"0.63661974668502807617", &kSine},
    {"2.8853900432586669922", &kTanh},
    {"FCHK", &kDivide},
    {"-0xd000000", &kRoot},
    {"0x1800000,", &kReciprocal},
    {"0x1800000 ", &kReciprocal},
};

const MathFunction* marked(const Instruction& instruction) {
  std::string text = instruction.text + " ";
  for (const Mark& mark : kMarks)
    if (text.find(mark.text) != std::string::npos) return mark.function;
  return nullptr;
}

bool is_arithmetic(const Instruction& instruction) {
  return !instruction.is_memory() && instruction.op_class != OpClass::barrier &&
         instruction.op_class != OpClass::memory_barrier && instruction.flow != Flow::exit;
}

}  // namespace

std::map<SourceLocation, MathLine> math_lines(const KernelView& view, const FunctionPart& part) {
  std::map<SourceLocation, MathLine> lines;
  const auto& instructions = part.function->instructions;
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    const MathFunction* function = marked(instructions[i]);
    if (!function) continue;
    std::vector<MathCalls>& calls = lines[view.facts(part, i).at].calls;
    auto known = std::find_if(calls.begin(), calls.end(),
                              [&](const MathCalls& c) { return c.function == function; });
    if (known == calls.end())
      calls.push_back({function, 1});
    else
      ++known->calls;
  }
  for (uint32_t i = 0; i < instructions.size() && !lines.empty(); ++i) {
    auto line = lines.find(view.facts(part, i).at);
    if (line != lines.end() && is_arithmetic(instructions[i]))
      line->second.instructions.push_back(i);
  }
  return lines;
}

}  // namespace fathom
