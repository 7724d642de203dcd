#include "binary/ptx.h"

#include <algorithm>

#include "base/text.h"
#include "binary/ptx_parser.h"

namespace fathom {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 40;

struct TypeEntry {
  std::string_view name;
  PtxTypeName type;
};
constexpr TypeEntry kTypes[] = {
    {"pred", {PtxType::pred, 1}},     {"b8", {PtxType::b, 8}},
    {"b16", {PtxType::b, 16}},        {"b32", {PtxType::b, 32}},
    {"b64", {PtxType::b, 64}},        {"b128", {PtxType::b, 128}},
    {"u8", {PtxType::u, 8}},          {"u16", {PtxType::u, 16}},
    {"u32", {PtxType::u, 32}},        {"u64", {PtxType::u, 64}},
    {"s8", {PtxType::s, 8}},          {"s16", {PtxType::s, 16}},
    {"s32", {PtxType::s, 32}},        {"s64", {PtxType::s, 64}},
    {"f16", {PtxType::f, 16}},        {"f16x2", {PtxType::f, 32}},
    {"f32", {PtxType::f, 32}},        {"f32x2", {PtxType::f, 64}},
    {"f64", {PtxType::f, 64}},        {"bf16", {PtxType::bf, 16}},
    {"bf16x2", {PtxType::bf, 32}},    {"tf32", {PtxType::tf, 32}},
    {"u16x2", {PtxType::u, 32}},      {"s16x2", {PtxType::s, 32}},
    {"e4m3", {PtxType::other, 8}},    {"e5m2", {PtxType::other, 8}},
    {"e4m3x2", {PtxType::other, 16}}, {"e5m2x2", {PtxType::other, 16}},
    {"texref", {PtxType::other, 64}}, {"samplerref", {PtxType::other, 64}},
    {"surfref", {PtxType::other, 64}}};

constexpr std::string_view kLinking[] = {"visible", "extern", "weak", "common"};

bool is_linking(std::string_view directive) {
  return std::find(std::begin(kLinking), std::end(kLinking), directive) != std::end(kLinking);
}

/// Counts of threads: up to three numbers.
std::array<uint32_t, 3> shape(PtxScanner& scan) {
  std::array<uint32_t, 3> counts{1, 1, 1};
  size_t i = 0;
  do {
    if (i == counts.size()) return scan.fail("expected at most three numbers"), counts;
    counts[i++] = static_cast<uint32_t>(scan.count("a number of threads", 1u << 30));
  } while (!scan.failed() && scan.accept(','));
  return counts;
}

class ModuleReader {
 public:
  ModuleReader(std::string_view text, const std::function<bool(const PtxFunction&)>& keep)
      : parser_(text), scan_(parser_.scan), keep_(keep) {}

  PtxParser& parser() { return parser_; }

  void read() {
    version();
    while (!scan_.at_end()) statement();
  }

 private:
  void version() {
    if (!scan_.sees_directive("version")) return scan_.fail_expected("\".version\" at the start");
    scan_.directive();
    const PtxScanner::Number number = scan_.number("a version such as 8.0");
    if (scan_.failed()) return;
    const double value = number.is_real ? number.real : static_cast<double>(number.integer);
    if (!(value >= 1 && value < 100)) return scan_.fail("expected a version from 1.0 to 99.9");
    parser_.module.version_major = static_cast<uint32_t>(value);
    parser_.module.version_minor =
        static_cast<uint32_t>((value - parser_.module.version_major) * 10 + 0.5);
  }

  void statement() {
    const std::string_view directive = scan_.directive();
    if (directive.empty()) {
      if (scan_.accept(';')) return;
      return scan_.fail_expected("a directive such as \".entry\"");
    }
    if (is_linking(directive)) return;  // belongs to the next one
    if (directive == "target") return target();
    if (directive == "address_size") {
      parser_.module.address_bits =
          static_cast<uint32_t>(scan_.count("an address size (32 or 64)", 64));
    } else if (directive == "file") {
      file();
    } else if (directive == "section") {
      scan_.accept('.');
      scan_.dotted_name("a section's name");
      if (scan_.expect('{', "behind a section's name")) scan_.skip_braces();
    } else if (directive == "entry" || directive == "func") {
      function(directive == "entry");
    } else if (directive == "loc") {
      scan_.skip_line();
    } else if (directive == "pragma" || directive == "alias" || directive == "attribute") {
      directive == "attribute" ? attribute() : scan_.skip_behind(';');
    } else if (space_of_directive(directive) != PtxSpace::none) {
      parser_.variables(space_of_directive(directive), parser_.module.variables);
    } else if (read_ptx_type(directive).kind == PtxType::other || directive == "tex") {
      scan_.skip_behind(';');  // a texture, which old modules declare so
    } else {
      scan_.fail("expected a directive of a module, found \"." + std::string(directive) + "\"");
    }
  }

  void attribute() {
    scan_.expect('(', "behind .attribute");
    while (!scan_.failed() && !scan_.accept(')')) {
      scan_.accept('.');
      if (!scan_.accept(',') && !scan_.accept('(')) scan_.dotted_name("an attribute");
    }
  }

  void target() {
    parser_.module.target = scan_.dotted_name("a target such as sm_90");
    while (scan_.accept(',')) scan_.dotted_name("a target's option");
  }

  void file() {
    PtxFile file;
    file.number = static_cast<uint32_t>(scan_.count("a file's number", 1u << 30));
    file.name = scan_.quoted();
    while (scan_.accept(',')) scan_.number("a file's time or size");
    parser_.module.files.push_back(file);
  }

  void parameters(std::vector<PtxVariable>& out) {
    if (!scan_.expect('(', "before parameters") || scan_.accept(')')) return;
    do {
      out.push_back(parser_.parameter());
    } while (!scan_.failed() && scan_.accept(','));
    scan_.expect(')', "behind parameters");
  }

  void function(bool is_entry) {
    PtxFunction function;
    function.line = scan_.line();
    function.is_entry = is_entry;
    if (scan_.sees_directive("attribute")) scan_.directive(), attribute();
    if (scan_.peek() == '(') parameters(function.results);
    function.name = scan_.name("a function's name");
    if (scan_.peek() == '(') parameters(function.parameters);
    while (!scan_.failed() && scan_.peek() == '.') tuning(function);
    if (scan_.accept('{')) {
      function.has_body = true;
      read_ptx_body(parser_, function);
      if (keep_ && !keep_(function)) forget_body(function);
    } else if (!scan_.accept(';')) {
      scan_.fail_expected("'{' or ';' behind the head of \"" + std::string(function.name) + "\"");
    }
    if (!scan_.failed()) parser_.module.functions.push_back(std::move(function));
  }

  static void forget_body(PtxFunction& function) {
    function.variables = {};
    function.registers = {};
    function.labels = {};
    function.instructions = {};
    function.operands = {};
    function.locations = {};
  }

  void tuning(PtxFunction& function) {
    const std::string_view directive = scan_.directive();
    if (directive == "maxntid") {
      function.max_threads = shape(scan_);
    } else if (directive == "reqntid") {
      function.required_threads = shape(scan_);
    } else if (directive == "minnctapersm") {
      function.min_blocks = static_cast<uint32_t>(scan_.count("a number of blocks", 1u << 20));
    } else if (directive == "maxnreg") {
      function.max_registers = static_cast<uint32_t>(scan_.count("a number of registers", 1024));
    } else if (directive == "pragma") {
      scan_.skip_behind(';');
    } else if (directive == "attribute") {
      attribute();
    } else if (directive.empty()) {
      scan_.fail_expected("a directive");
    } else {  // .noreturn, .maxclusterrank 8, .reqnctapercluster 2, 1, 1, .abi_preserve 10 ...
      if (!scan_.sees_number()) return;
      do {
        scan_.number("a number");
      } while (!scan_.failed() && scan_.accept(','));
    }
  }

  PtxParser parser_;
  PtxScanner& scan_;
  const std::function<bool(const PtxFunction&)>& keep_;
};

}  // namespace

PtxTypeName read_ptx_type(std::string_view name) {
  if (name.size() < 2 || name.size() > 10) return {};
  for (const TypeEntry& entry : kTypes) {
    if (entry.name == name) return entry.type;
  }
  return {};
}

bool PtxOpcode::has(std::string_view piece) const {
  return std::find(pieces.begin(), pieces.end(), piece) != pieces.end();
}

const PtxFunction* PtxModule::find(std::string_view name) const {
  const PtxFunction* found = nullptr;
  for (const PtxFunction& function : functions) {
    if (function.name == name && (!found || function.has_body)) found = &function;
  }
  return found;
}

std::string_view PtxModule::file_name(uint32_t number) const {
  for (const PtxFile& file : files) {
    if (file.number == number) return file.name;
  }
  return {};
}

PtxSpace space_of_directive(std::string_view directive) {
  static constexpr struct {
    std::string_view name;
    PtxSpace space;
  } kSpaces[] = {{"global", PtxSpace::global},
                 {"const", PtxSpace::constant},
                 {"shared", PtxSpace::shared},
                 {"local", PtxSpace::local},
                 {"param", PtxSpace::param}};
  for (const auto& entry : kSpaces) {
    if (entry.name == directive) return entry.space;
  }
  return PtxSpace::none;
}

uint32_t PtxParser::opcode(std::string_view text) {
  const uint32_t index = opcodes.add(text);
  if (index < module.opcodes.size()) return index;
  PtxOpcode opcode;
  opcode.text = text;
  opcode.pieces = split(text, '.');
  for (std::string_view piece : opcode.pieces) {
    const PtxTypeName type = read_ptx_type(piece);
    if (type.kind != PtxType::none) opcode.types.push_back(type);
  }
  module.opcodes.push_back(std::move(opcode));
  return index;
}

namespace {

/// The directives between a variable's space and its name: ".align 8 .v4 .f32".
struct Head {
  PtxTypeName type;
  uint32_t align = 0, elements = 1;
  bool is_pointer = false;
};

Head variable_head(PtxScanner& scan) {
  Head head;
  while (!scan.failed() && scan.peek() == '.') {
    const std::string_view directive = scan.directive();
    const PtxTypeName type = read_ptx_type(directive);
    if (type.kind != PtxType::none) {
      head.type = type;
    } else if (directive == "align") {
      head.align = static_cast<uint32_t>(scan.count("an alignment", 1u << 20));
    } else if (directive == "v2" || directive == "v4" || directive == "v8") {
      head.elements = static_cast<uint32_t>(directive[1] - '0');
    } else if (directive == "ptr") {
      head.is_pointer = true;
    } else if (directive == "attribute") {
      scan.expect('(', "behind .attribute");
      scan.skip_behind(')');
    } else if (directive.empty()) {
      scan.fail_expected("a type");
    }  // .global and .const of a pointer: where it points to
  }
  if (!scan.failed() && head.type.kind == PtxType::none) scan.fail_expected("a type such as .b32");
  return head;
}

PtxVariable one_variable(PtxScanner& scan, const Head& head, PtxSpace space) {
  PtxVariable variable;
  variable.name = scan.name("a variable's name");
  variable.space = space;
  variable.type = head.type;
  variable.align = head.align;
  variable.is_pointer = head.is_pointer;
  uint64_t size = uint64_t{head.elements} * std::max(1, head.type.bits / 8);
  if (scan.accept('<')) {  // .param .b32 p<4>
    scan.count("a number of names", kMostBytes);
    scan.expect('>', "behind a number of names");
  }
  while (scan.accept('[')) {
    if (scan.accept(']')) {
      size = 0;
      continue;
    }
    const int64_t extent = scan.number("an array's length").integer;
    scan.expect(']', "behind an array's length");
    const auto length = static_cast<uint64_t>(extent);
    if (extent < 0 || (size != 0 && length > kMostBytes / size)) {
      scan.fail("expected an array that fits into memory");
      return variable;
    }
    size *= length;
  }
  variable.size = size;
  return variable;
}

}  // namespace

PtxVariable PtxParser::parameter() {
  if (!scan.sees_directive("param") && !scan.sees_directive("reg")) {
    scan.fail_expected("\".param\"");
    return {};
  }
  scan.directive();
  const Head head = variable_head(scan);
  if (scan.failed()) return {};
  return one_variable(scan, head, PtxSpace::param);
}

void PtxParser::variables(PtxSpace space, std::vector<PtxVariable>& out) {
  const Head head = variable_head(scan);
  while (!scan.failed()) {
    out.push_back(one_variable(scan, head, space));
    if (scan.accept('=')) {
      if (scan.accept('{')) {
        scan.skip_braces();
      } else {
        while (!scan.failed() && scan.peek() != ',' && scan.peek() != ';') {
          if (scan.sees_name()) {
            scan.dotted_name("a value");
          } else if (!scan.accept('(') && !scan.accept(')') && !scan.accept('+')) {
            scan.number("a value");
          }
        }
      }
    }
    if (!scan.accept(',')) break;
  }
  if (!scan.failed()) scan.expect(';', "behind a declaration");
}

Result<PtxModule> parse_ptx(std::string_view text, const std::string& file,
                            const std::function<bool(const PtxFunction&)>& keep) {
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  ModuleReader reader(text, keep);
  reader.read();
  PtxParser& parser = reader.parser();
  if (parser.scan.failed()) {
    return Error{ErrorKind::bad_input, parser.scan.problem(),
                 format("%s:%u", file.c_str(), parser.scan.problem_line()),
                 "the file is no PTX, or was cut off or edited"};
  }
  parser.module.symbols = parser.symbols.names();
  return std::move(parser.module);
}

}  // namespace fathom
