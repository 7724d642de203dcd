#include "prediction/ptx_costs.h"

#include <algorithm>
#include <map>

namespace fathom {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

PtxCost float_cost(const PtxOpcode& op, PtxTypeName type) {
  const std::string_view base = op.base();
  const bool approximate = op.has("approx"), is_double = type.bits == 64;
  const std::string machine_class = is_double ? "fp64" : "fp32";
  if (base == "div")
    return {machine_class, is_double ? 22.0 : op.has("approx") ? 3.0 : op.has("full") ? 4.0 : 9.0};
  if (base == "rcp" || base == "sqrt" || base == "rsqrt") {
    if (approximate && !is_double) return {"special", 1};
    return {machine_class, is_double ? 16.0 : 7.0};
  }
  if (is_one_of(base, {"sin", "cos", "ex2", "lg2", "tanh"})) return {"special", 1};
  if (is_one_of(base,
                {"setp", "selp", "min", "max", "abs", "neg", "copysign", "testp", "set", "slct"}))
    return {is_double && base != "selp" ? "fp64" : "integer", 1};
  return {type.bits == 16 || op.has("f16x2") || op.has("bf16x2") ? "fp16" : machine_class, 1};
}

PtxCost integer_cost(const PtxOpcode& op, PtxTypeName type) {
  const std::string_view base = op.base();
  const bool is_wide = type.bits == 64;
  if (base == "div" || base == "rem") return {"integer", is_wide ? 70.0 : 20.0};
  if (base == "mul" || base == "mad" || base == "mul24" || base == "mad24") {
    if (is_wide) return {"integer_multiply", 4};
    return {op.has("wide") || op.has("hi") ? "integer_multiply_wide" : "integer_multiply", 1};
  }
  if (is_one_of(base, {"popc", "clz", "bfind", "brev"}))
    return {"integer_wide", is_wide ? 3.0 : 1.0};
  if (base == "bfe" || base == "bfi") return {"integer", is_wide ? 5.0 : 2.0};
  if (base == "selp" || base == "setp" || base == "add" || base == "sub" || base == "min" ||
      base == "max" || base == "and" || base == "or" || base == "xor" || base == "not" ||
      base == "neg" || base == "abs")
    return {"integer", is_wide ? 2.0 : 1.0};
  return {"integer", is_wide ? 2.0 : 1.0};
}

PtxCost conversion_cost(const PtxOpcode& op) {
  if (op.types.size() < 2) return {"integer", 1};
  const PtxTypeName to = op.types[0], from = op.types[1];
  const auto is_float = [](PtxTypeName type) {
    return type.kind == PtxType::f || type.kind == PtxType::bf;
  };
  if (!is_float(to) && !is_float(from))
    return {"integer", from.bits >= to.bits || from.kind == PtxType::u ? 0.2 : 1.0};
  return {to.bits == 64 || from.bits == 64 ? "conversion_64" : "conversion", 1};
}

}  // namespace

PtxCost cost_of(const PtxOpcode& op) {
  const std::string_view base = op.base();
  const PtxTypeName type = op.types.empty() ? PtxTypeName{PtxType::b, 32} : op.types.back();
  if (base == "mov") return {"move", 0.3};
  if (base == "cvta" || base == "pragma") return {"move", 0};
  if (base == "cvt") return conversion_cost(op);
  if (base == "ld" || base == "ldu") {
    if (op.has("param")) return {"move", 0.3};
    return {op.has("shared")  ? "load_shared"
            : op.has("const") ? "load_constant"
                              : "load_global",
            1};
  }
  if (base == "st")
    return {op.has("shared")  ? "store_shared"
            : op.has("param") ? "move"
                              : "store",
            op.has("param") ? 0.3 : 1.0};
  if (is_one_of(base, {"atom", "red", "tex", "tld4", "suld", "sust", "cp"}))
    return {op.has("shared") ? "load_shared" : "load_global", 1};
  if (base == "shfl") return {"shuffle", 1};
  if (is_one_of(base, {"vote", "match", "activemask", "redux", "elect"})) return {"vote", 1};
  if (is_one_of(base, {"bar", "barrier", "membar", "fence", "mbarrier"})) return {"barrier", 1};
  if (is_one_of(base, {"bra", "brx", "call", "ret", "exit", "trap", "nanosleep"}))
    return {"control", 1};
  if (is_one_of(base, {"mma", "wmma", "wgmma", "tcgen05"})) {
    if (op.has("load") || op.has("store")) return {"load_global", 2};
    return {"tensor", 2};
  }
  if (type.kind == PtxType::pred) return {"predicate", 1};
  if (type.kind == PtxType::f || type.kind == PtxType::bf || type.kind == PtxType::tf)
    return float_cost(op, type);
  return integer_cost(op, type);
}

}  // namespace fathom
