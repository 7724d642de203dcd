#include "binary/compare_sources.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace fathom {
namespace {

std::string list(const std::vector<Register>& registers) {
  std::string text;
  for (Register reg : registers) text += (text.empty() ? "" : " ") + to_string(reg);
  return text;
}

bool same_guard(const Guard& a, const Guard& b) {
  return a.always == b.always && a.negated == b.negated &&
         (a.always || a.predicate.index == b.predicate.index) &&
         (a.always || a.predicate.index >= 7 || a.predicate.file == b.predicate.file);
}

/// nvdisasm makes up names for places that have none.
std::string named(const std::string& symbol) {
  return starts_with(symbol, ".L_") || starts_with(symbol, "__nv_") ? "" : symbol;
}

/// Text without labels and distances, which are written differently.
std::string comparable(std::string_view text) {
  std::string_view head = text.substr(0, text.find("`("));
  if (head.size() == text.size()) return std::string(text);
  return std::string(head);
}

class Comparison {
 public:
  explicit Comparison(SourceDifferences& out) : out_(out) {}

  void instruction(const Instruction& theirs, const Instruction& ours) {
    theirs_ = &theirs;
    ours_ = &ours;
    wrong_ = false;
    ++out_.instructions;
    check("known", theirs.known == ours.known);
    check("opcode", theirs.opcode == ours.opcode);
    check("guard", same_guard(theirs.guard, ours.guard));
    check("registers written", theirs.defs == ours.defs,
          list(theirs.defs) + " / " + list(ours.defs));
    check("registers read", theirs.uses == ours.uses, list(theirs.uses) + " / " + list(ours.uses));
    check("class", theirs.op_class == ours.op_class);
    check("memory", theirs.space == ours.space && theirs.access_bytes == ours.access_bytes);
    check("flow", theirs.flow == ours.flow);
    check("target", theirs.target == ours.target, target(theirs) + " / " + target(ours));
    check("convergence", theirs.convergence == ours.convergence);
    check("table", theirs.table == ours.table);
    check("called symbol",
          named(theirs.target_symbol) == named(ours.target_symbol) ||
              named(theirs.target_symbol).empty(),
          theirs.target_symbol + " / " + ours.target_symbol);
    out_.different += wrong_;
    const bool alike =
        comparable(theirs.text) == ours.text || starts_with(ours.text, comparable(theirs.text));
    out_.text_alike += alike;
    if (!alike) note("(text)", "");
  }

  void missing(const Instruction& theirs) {
    theirs_ = ours_ = &theirs;
    ++out_.instructions;
    ++out_.different;
    note("instruction missing or too many", "");
  }

 private:
  static std::string target(const Instruction& instruction) {
    if (!instruction.target) return "-";
    return format("%llx", static_cast<unsigned long long>(*instruction.target));
  }

  void check(const char* name, bool same, const std::string& detail = "") {
    if (same) return;
    wrong_ = true;
    note(name, detail);
  }

  void note(const char* name, const std::string& detail) {
    SourceDifferences::Class& found = out_.classes[name];
    ++found.count;
    std::string base(theirs_->base_opcode());
    ++found.by_opcode[base];
    if (found.by_opcode[base] == 1)
      found.example[base] =
          theirs_->text + "  |  " + ours_->text + (detail.empty() ? "" : "  |  " + detail);
  }

  SourceDifferences& out_;
  const Instruction* theirs_ = nullptr;
  const Instruction* ours_ = nullptr;
  bool wrong_ = false;
};

}  // namespace

Result<Done> compare_sources(const GpuBinary& binary, InstructionSource& theirs,
                             InstructionSource& ours, SourceDifferences& differences) {
  Comparison comparison(differences);
  for (const GpuSymbol& function : binary.functions) {
    Result<std::vector<Instruction>> a = theirs.decode(binary, function);
    if (!a) return a.error();
    Result<std::vector<Instruction>> b = ours.decode(binary, function);
    if (!b) return b.error();
    ++differences.functions;
    for (size_t i = 0, j = 0; i < a->size() || j < b->size();) {
      const bool first = i < a->size() && (j == b->size() || (*a)[i].offset < (*b)[j].offset);
      const bool second = j < b->size() && (i == a->size() || (*b)[j].offset < (*a)[i].offset);
      if (first)
        comparison.missing((*a)[i++]);
      else if (second)
        comparison.missing((*b)[j++]);
      else
        comparison.instruction((*a)[i++], (*b)[j++]);
    }
  }
  return Done{};
}

std::string SourceDifferences::report(size_t opcodes_per_class) const {
  std::string text =
      format("%zu functions, %zu instructions, %zu differ (agreement %.5f%%), text alike %.3f%%\n",
             functions, instructions, different,
             instructions ? 100.0 * double(instructions - different) / double(instructions) : 100.0,
             instructions ? 100.0 * double(text_alike) / double(instructions) : 100.0);
  for (const auto& [name, found] : classes) {
    text += format("  %s: %zu\n", name.c_str(), found.count);
    std::vector<std::pair<std::string, size_t>> opcodes(found.by_opcode.begin(),
                                                        found.by_opcode.end());
    std::sort(opcodes.begin(), opcodes.end(),
              [](const auto& a, const auto& b) { return a.second > b.second; });
    for (size_t i = 0; i < opcodes.size() && i < opcodes_per_class; ++i)
      text += format("    %s %zu, as %s\n", opcodes[i].first.c_str(), opcodes[i].second,
                     found.example.at(opcodes[i].first).c_str());
  }
  return text;
}

}  // namespace fathom
