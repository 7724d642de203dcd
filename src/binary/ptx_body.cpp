#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "binary/ptx_parser.h"

namespace fathom {
namespace {

constexpr std::string_view kSpecials[] = {"%tid",
                                          "%ntid",
                                          "%laneid",
                                          "%warpid",
                                          "%nwarpid",
                                          "%ctaid",
                                          "%nctaid",
                                          "%smid",
                                          "%nsmid",
                                          "%gridid",
                                          "%clock",
                                          "%clock64",
                                          "%clock_hi",
                                          "%lanemask_eq",
                                          "%lanemask_le",
                                          "%lanemask_lt",
                                          "%lanemask_ge",
                                          "%lanemask_gt",
                                          "%globaltimer",
                                          "%globaltimer_lo",
                                          "%globaltimer_hi",
                                          "%total_smem_size",
                                          "%dynamic_smem_size",
                                          "%aggr_smem_size",
                                          "%current_graph_exec",
                                          "%is_explicit_cluster"};
constexpr std::string_view kSpecialFamilies[] = {"%envreg", "%pm", "%cluster", "%reserved_smem",
                                                 "%nclusterid"};

bool is_special(std::string_view name) {
  return std::find(std::begin(kSpecials), std::end(kSpecials), name) != std::end(kSpecials) ||
         std::any_of(std::begin(kSpecialFamilies), std::end(kSpecialFamilies),
                     [&](std::string_view family) { return starts_with(name, family); });
}

/// "%r<11>" declares %r0 to %r10; count 0: the name itself.
struct RegisterDeclaration {
  std::string_view name;
  uint64_t count = 0;
  PtxTypeName type;
  uint8_t elements = 1;

  bool covers(std::string_view other) const {
    if (count == 0) return other == name;
    if (other.size() <= name.size() || other.size() > name.size() + 10 ||
        !starts_with(other, name) || (other[name.size()] == '0' && other.size() > name.size() + 1))
      return false;
    uint64_t number = 0;
    for (char c : other.substr(name.size())) {
      if (c < '0' || c > '9') return false;
      number = number * 10 + static_cast<uint64_t>(c - '0');
    }
    return number < count;
  }
};

/// A use of a label before it is known where that is.
struct LabelUse {
  std::string_view name;
  uint32_t line = 0;
  uint32_t operand = kNoIndex;             ///< of the function; or
  uint32_t list = kNoIndex, position = 0;  ///< a place in a .branchtargets list
};

/// A block in braces: its names hide those outside.
struct Scope {
  std::vector<RegisterDeclaration> declared;
  std::unordered_map<std::string_view, uint32_t> registers, labels;
  std::vector<LabelUse> uses;
};

class BodyReader {
 public:
  BodyReader(PtxParser& parser, PtxFunction& function)
      : parser_(parser), scan_(parser.scan), function_(function) {}

  void read() {
    scopes_.emplace_back();
    while (!scan_.failed() && !scopes_.empty()) statement();
  }

 private:
  void statement() {
    const char next = scan_.peek();
    if (scan_.at_end()) {
      scan_.fail_expected("'}' at the end of \"" + std::string(function_.name) + "\"");
    } else if (next == '.') {
      directive();
    } else if (next == '@' || scan_.sees_name()) {
      labelled_or_instruction();
    } else if (scan_.accept('{')) {
      if (scopes_.size() > 256) return scan_.fail("expected fewer blocks within blocks");
      scopes_.emplace_back();
    } else if (scan_.accept('}')) {
      close_scope();
    } else if (!scan_.accept(';')) {
      scan_.fail_expected("an instruction, a label or a directive");
    }
  }

  void close_scope() {
    Scope closed = std::move(scopes_.back());
    scopes_.pop_back();
    for (const LabelUse& use : closed.uses) {
      const auto found = closed.labels.find(use.name);
      if (found != closed.labels.end()) {
        (use.operand != kNoIndex ? function_.operands[use.operand].name
                                 : function_.labels[use.list].targets[use.position]) =
            found->second;
      } else if (!scopes_.empty()) {
        scopes_.back().uses.push_back(use);
      } else {
        scan_.fail(format("expected a label \"%s\", which line %u uses, in the function",
                          std::string(use.name).c_str(), use.line));
        return;
      }
    }
  }

  // Directives.

  void directive() {
    const std::string_view name = scan_.directive();
    if (name == "loc") return location();
    if (name == "reg") return registers();
    if (name == "pragma") return scan_.skip_behind(';');
    const PtxSpace space = space_of_directive(name);
    if (space != PtxSpace::none) return parser_.variables(space, function_.variables);
    if (name == "section") {  // within braces of debug information
      scan_.accept('.');
      scan_.dotted_name("a section's name");
      if (scan_.expect('{', "behind a section's name")) scan_.skip_braces();
      return;
    }
    if (name == "file" || name == "attribute" || name == "noreturn" || name == "unreachable")
      return scan_.skip_line();
    scan_.fail("expected a directive of a function's body, found \"." + std::string(name) + "\"");
  }

  void registers() {
    RegisterDeclaration declaration;
    while (!scan_.failed() && scan_.peek() == '.') {
      const std::string_view name = scan_.directive();
      if (name == "v2" || name == "v4") {
        declaration.elements = static_cast<uint8_t>(name[1] - '0');
      } else if (name == "align") {
        scan_.count("an alignment", 1u << 20);
      } else {
        declaration.type = read_ptx_type(name);
        if (declaration.type.kind == PtxType::none)
          return scan_.fail("expected a type of registers, found \"." + std::string(name) + "\"");
      }
    }
    do {
      declaration.name = scan_.name("a register's name");
      declaration.count = 0;
      if (scan_.accept('<')) {
        declaration.count = scan_.count("a number of registers", uint64_t{1} << 32);
        scan_.expect('>', "behind a number of registers");
      }
      scopes_.back().declared.push_back(declaration);
    } while (!scan_.failed() && scan_.accept(','));
    if (!scan_.failed()) scan_.expect(';', "behind registers");
  }

  struct Place {
    uint32_t file = 0, line = 0, column = 0;
    auto operator<=>(const Place&) const = default;
  };
  Place place() {
    Place place;
    place.file = static_cast<uint32_t>(scan_.count("a file's number", 0xfffffffeu));
    place.line = static_cast<uint32_t>(scan_.count("a line", 0xfffffffeu));
    place.column = static_cast<uint32_t>(scan_.count("a column", 0xfffffffeu));
    return place;
  }

  void location() {
    const Place at = place();
    PtxLocation location{at.file, at.line, kNoIndex, kNoIndex};
    while (!scan_.failed() && scan_.accept(',')) {
      const std::string_view word = scan_.name("function_name or inlined_at");
      if (word == "function_name") {
        location.function_name = parser_.symbols.add(scan_.name("a label of .debug_str"));
        if (scan_.accept('+')) scan_.number("an offset");
      } else if (word == "inlined_at") {
        const Place call = place();
        const auto found = places_.find(call);
        if (found == places_.end()) {
          function_.locations.push_back({call.file, call.line, kNoIndex, kNoIndex});
          places_[call] = static_cast<uint32_t>(function_.locations.size() - 1);
        }
        location.inlined_at = places_[call];
      } else if (!scan_.failed()) {
        scan_.fail("expected function_name or inlined_at, found \"" + std::string(word) + "\"");
      }
    }
    if (scan_.failed()) return;
    const auto found = places_.find(at);
    if (found != places_.end()) {
      const PtxLocation& old = function_.locations[found->second];
      if (old.inlined_at == location.inlined_at && old.function_name == location.function_name) {
        location_ = found->second;
        return;
      }
    }
    function_.locations.push_back(location);
    location_ = static_cast<uint32_t>(function_.locations.size() - 1);
    places_[at] = location_;
  }

  // Labels and what stands behind them.

  void labelled_or_instruction() {
    if (scan_.peek() == '@') return instruction();
    const std::string_view word = scan_.dotted_name("an instruction");
    if (scan_.failed()) return;
    if (scan_.peek() != ':') return instruction(word);
    scan_.accept(':');
    if (scan_.sees_directive("callprototype") || scan_.sees_directive("calltargets"))
      return scan_.skip_behind(';');
    const auto label = static_cast<uint32_t>(function_.labels.size());
    if (!scopes_.back().labels.emplace(word, label).second)
      return scan_.fail("expected another name for the label \"" + std::string(word) + "\"");
    function_.labels.push_back({word, static_cast<uint32_t>(function_.instructions.size()), {}});
    if (scan_.sees_directive("branchtargets")) {
      scan_.directive();
      branch_targets(label);
    }
  }

  void branch_targets(uint32_t list) {
    uint32_t position = 0;
    do {
      const uint32_t line = scan_.line();
      const std::string_view name = scan_.name("a label");
      function_.labels[list].targets.push_back(kNoIndex);
      scopes_.back().uses.push_back({name, line, kNoIndex, list, position++});
    } while (!scan_.failed() && scan_.accept(','));
    if (!scan_.failed()) scan_.expect(';', "behind a list of labels");
  }

  // Instructions.

  void instruction(std::string_view opcode = {}) {
    PtxInstruction out;
    out.line = scan_.line();
    out.location = location_;
    if (scan_.accept('@')) {
      out.guard_negated = scan_.accept('!');
      const std::string_view name = scan_.name("a predicate");
      if (scan_.failed()) return;
      out.guard = find_register(name);
      if (out.guard == kNoIndex) return undeclared(name);
    }
    if (opcode.empty()) {
      out.line = scan_.line();
      opcode = scan_.dotted_name("an instruction");
    }
    if (scan_.failed()) return;
    out.opcode = parser_.opcode(opcode);
    opcode_ = &parser_.module.opcodes[out.opcode];
    const std::string_view base = opcode_->base();
    is_branch_ = base == "bra" || base == "brx";
    is_call_ = base == "call";
    out.first_operand = static_cast<uint32_t>(function_.operands.size());
    if (!scan_.accept(';')) {
      do {
        operand(0);
      } while (!scan_.failed() && scan_.accept(','));
      if (!scan_.failed() && !scan_.accept(';'))
        return scan_.fail_expected("',' or ';' behind an operand of \"" + std::string(opcode) +
                                   "\"");
    }
    out.operand_count = static_cast<uint32_t>(function_.operands.size()) - out.first_operand;
    function_.instructions.push_back(out);
  }

  void undeclared(std::string_view name) {
    scan_.fail("expected a declared register, found \"" + std::string(name) + "\"");
  }

  uint32_t find_register(std::string_view name) {
    for (size_t i = scopes_.size(); i-- > 0;) {
      Scope& scope = scopes_[i];
      if (scope.declared.empty()) continue;
      const auto known = scope.registers.find(name);
      if (known != scope.registers.end()) return known->second;
      for (const RegisterDeclaration& declaration : scope.declared) {
        if (!declaration.covers(name)) continue;
        const auto index = static_cast<uint32_t>(function_.registers.size());
        function_.registers.push_back({name, declaration.type, declaration.elements});
        scope.registers.emplace(name, index);
        return index;
      }
    }
    return kNoIndex;
  }

  PtxOperand& add(PtxOperandKind kind) {
    function_.operands.emplace_back();
    function_.operands.back().kind = kind;
    return function_.operands.back();
  }

  void operand(int depth) {
    if (depth > 3) return scan_.fail("expected fewer braces within braces");
    const char next = scan_.peek();
    if (scan_.sees_name()) {
      named(scan_.name("an operand"), false);
    } else if (next == '[') {
      address(depth);
    } else if (next == '{') {
      group(PtxOperandKind::vector, '{', '}', depth);
    } else if (next == '(' && is_call_) {
      group(PtxOperandKind::list, '(', ')', depth);
    } else if (scan_.accept('!')) {
      named(scan_.name("a predicate"), true);
    } else if (scan_.sees_number()) {
      // A register may be negated in video instructions: -%r1.
      if (next == '-' && scan_.peek_second() == '%') {
        scan_.accept('-');
        return named(scan_.name("an operand"), true);
      }
      number();
    } else {
      scan_.fail_expected("an operand of \"" + std::string(opcode_->text) + "\"");
    }
  }

  void number() {
    const PtxScanner::Number number = scan_.number("a number");
    PtxOperand& out = add(number.is_real ? PtxOperandKind::real : PtxOperandKind::integer);
    out.value = number.is_real ? std::bit_cast<int64_t>(number.real) : number.integer;
  }

  void close_group(uint32_t at) {
    const size_t count = function_.operands.size() - at - 1;
    if (count > 0xffff) return scan_.fail("expected fewer operands in one group");
    function_.operands[at].count = static_cast<uint16_t>(count);
  }

  /// Braces or parentheses: the parts stand behind the group itself.
  void group(PtxOperandKind kind, char open, char close, int depth) {
    const auto at = static_cast<uint32_t>(function_.operands.size());
    add(kind);
    scan_.accept(open);
    if (!scan_.accept(close)) {
      do {
        operand(depth + 1);
      } while (!scan_.failed() && scan_.accept(','));
      if (!scan_.failed()) scan_.expect(close, "at the end of a group of operands");
    }
    close_group(at);
  }

  /// [base], [base+4], [base, {x, y}], [4]
  void address(int depth) {
    const auto at = static_cast<uint32_t>(function_.operands.size());
    add(PtxOperandKind::address);
    scan_.accept('[');
    if (scan_.sees_name()) {
      PtxOperand& out = function_.operands[at];
      const std::string_view name = scan_.name("an address");
      out.name = find_register(name);
      out.base = out.name == kNoIndex ? PtxOperandKind::symbol : PtxOperandKind::register_;
      if (out.name == kNoIndex) {
        if (name.front() == '%') return undeclared(name);
        out.name = parser_.symbols.add(name);
      }
      if (scan_.peek() == '+' || scan_.peek() == '-') {
        const bool negative = scan_.peek() == '-';
        if (!negative) scan_.accept('+');
        out.value = scan_.number("an offset").integer;
      }
    } else {
      function_.operands[at].value = scan_.number("an address").integer;
    }
    while (!scan_.failed() && scan_.accept(',')) operand(depth + 1);
    if (!scan_.failed() && !scan_.accept(']')) scan_.fail_expected("']' at the end of an address");
    close_group(at);
  }

  void named(std::string_view name, bool negated) {
    if (scan_.failed()) return;
    if (name == "_") {
      add(PtxOperandKind::none);
      return pair_behind(function_.operands.size() - 1);
    }
    const size_t at = function_.operands.size();
    PtxOperand& out = add(PtxOperandKind::register_);
    out.negated = negated;
    out.name = find_register(name);
    if (out.name == kNoIndex) name_of_another_kind(name, out);
    if (scan_.failed()) return;
    if (scan_.peek() == '.') {
      const std::string_view part = scan_.directive();
      const size_t element = std::string_view("xyzw").find(part);
      if (part.size() == 1 && element != std::string_view::npos)
        out.element = static_cast<uint8_t>((element + 1) & 7);
    } else if (scan_.accept('[')) {  // an element of a variable: name[4]
      out.value = scan_.number("an index").integer;
      scan_.expect(']', "behind an index");
    } else if (out.kind == PtxOperandKind::symbol && (scan_.peek() == '+' || scan_.peek() == '-')) {
      if (scan_.peek() == '+') scan_.accept('+');
      out.value = scan_.number("an offset").integer;
    }
    pair_behind(at);
  }

  /// p|q: the pair is put before what was just added.
  void pair_behind(size_t at) {
    if (scan_.failed() || !scan_.accept('|')) return;
    PtxOperand pair;
    pair.kind = PtxOperandKind::pair;
    pair.count = 2;
    function_.operands.insert(function_.operands.begin() + static_cast<std::ptrdiff_t>(at), pair);
    for (LabelUse& use : scopes_.back().uses)
      if (use.operand != kNoIndex && use.operand >= at) ++use.operand;
    const bool negated = scan_.accept('!');
    const size_t before = function_.operands.size();
    named(scan_.name("the second of two registers"), negated);
    if (!scan_.failed() && function_.operands.size() != before + 1)
      scan_.fail("expected at most two registers with '|'");
  }

  void name_of_another_kind(std::string_view name, PtxOperand& out) {
    if (name.front() == '%') {
      if (!is_special(name)) return undeclared(name);
      out.kind = PtxOperandKind::special;
    } else if (name == "WARP_SZ") {
      out.kind = PtxOperandKind::integer;
      out.value = 32;
      return;
    } else if (is_branch_) {
      out.kind = PtxOperandKind::label;
      scopes_.back().uses.push_back(
          {name, scan_.line(), static_cast<uint32_t>(function_.operands.size() - 1), kNoIndex, 0});
      return;
    } else {
      out.kind = PtxOperandKind::symbol;
    }
    out.name = parser_.symbols.add(name);
  }

  PtxParser& parser_;
  PtxScanner& scan_;
  PtxFunction& function_;
  std::vector<Scope> scopes_;
  std::map<Place, uint32_t> places_;
  uint32_t location_ = kNoIndex;
  const PtxOpcode* opcode_ = nullptr;
  bool is_branch_ = false, is_call_ = false;
};

}  // namespace

void read_ptx_body(PtxParser& parser, PtxFunction& function) {
  BodyReader(parser, function).read();
  function.registers.shrink_to_fit();
  function.instructions.shrink_to_fit();
  function.operands.shrink_to_fit();
  function.locations.shrink_to_fit();
}

}  // namespace fathom
