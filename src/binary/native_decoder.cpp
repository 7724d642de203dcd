#include "binary/native_decoder.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "binary/sass_literals.h"
#include "binary/sass_operands.h"

namespace fathom {
namespace {

constexpr uint8_t kTrue = 7;  // PT
constexpr size_t kMostShapes = size_t{1} << 16;

/// "{UR24}" or "{#0}" in a template.
struct Reference {
  std::string_view file;
  uint8_t at = 0;
};

/// From "UR24}...".
std::optional<Reference> reference_in(std::string_view text) {
  Reference reference;
  const size_t digits = text.find_first_of("0123456789}");
  if (digits == 0 || digits == text.npos) return std::nullopt;
  reference.file = text.substr(0, digits);
  auto [end, error] =
      std::from_chars(text.data() + digits, text.data() + text.size(), reference.at);
  if (error != std::errc()) return std::nullopt;
  return reference;
}

RegisterFile file_of(std::string_view name) {
  if (name == "R") return RegisterFile::general;
  if (name == "UR") return RegisterFile::uniform;
  return name == "P" ? RegisterFile::predicate : RegisterFile::uniform_predicate;
}

/// Registers of a kind have numbers of one width, whatever else may stand in their place.
uint8_t width_of(RegisterFile file, const SassField& field, unsigned compute) {
  if (file == RegisterFile::general) return 8;
  if (file == RegisterFile::uniform) return compute < 100 ? 6 : field.width;
  return 3;
}

void append_register(RegisterFile file, uint64_t index, uint64_t last, std::string& text) {
  const bool predicate = file == RegisterFile::predicate || file == RegisterFile::uniform_predicate;
  if (file == RegisterFile::uniform || file == RegisterFile::uniform_predicate) text += 'U';
  text += predicate ? 'P' : 'R';
  if (index == last) {
    text += predicate ? 'T' : 'Z';
    return;
  }
  char digits[4];
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, index);
  text.append(digits, end);
}

/// Makes the shape of one word.
class ShapeMaker {
 public:
  ShapeMaker(const SassTable& table, const SassWord& word) : table_(table), word_(word) {}

  SassShape make() {
    auto [first, count] = table_.by_opcode[word_.low & 0xfff];
    for (uint32_t i = first; i < first + count; ++i) {
      std::optional<std::vector<uint32_t>> rows = table_.entries[i].match(word_);
      if (!rows) continue;
      describe(table_.entries[i], *rows);
      break;
    }
    return std::move(shape_);
  }

 private:
  void describe(const SassEntry& entry, const std::vector<uint32_t>& rows) {
    entry_ = &entry;
    shape_.entry = &entry;
    shape_.opcode = join_parts(entry.name, rows, ".");
    shape_.bfloat16 = shape_.opcode.find(".BF16") != std::string::npos;
    std::string operands = join_parts(entry.operands, rows, ", ");
    const bool call = starts_with(shape_.opcode, "CALL") || starts_with(shape_.opcode, "JMP");
    read_template(operands, call);
    std::optional<SassMeaning> meaning = read_meaning(shape_.opcode, probe_);
    if (!meaning) return;
    shape_.known = true;
    shape_.op_class = meaning->op_class;
    shape_.space = meaning->space;
    shape_.access_bytes = meaning->access_bytes;
    shape_.flow = meaning->flow;
    shape_.converges = entry.name.front().text == "BSSY";
    for (const RegisterSpan& span : meaning->spans) add_registers_of(span);
    add_descriptor();
    for (const SassShape::Registers& registers : shape_.registers)
      (registers.defined ? shape_.defined : shape_.used) += registers.count;
    for (const SassShape::Part& part : shape_.operands) shape_.text_size += part.before.size() + 6;
  }

  static std::string join_parts(const std::vector<SassPart>& parts, const SassEntry& entry,
                                const std::vector<uint32_t>& rows, std::string_view separator) {
    std::string text;
    for (const SassPart& part : parts) {
      const std::string& piece =
          part.group < 0 ? part.text
                         : entry.groups[part.group].pieces[rows[part.group] + part.place];
      if (piece.empty()) continue;
      if (!text.empty()) text += separator;
      text += piece;
    }
    return text;
  }
  std::string join_parts(const std::vector<SassPart>& parts, const std::vector<uint32_t>& rows,
                         std::string_view separator) const {
    return join_parts(parts, *entry_, rows, separator);
  }

  /// Cuts the operands' template into parts, and writes them as they are in this word for the
  /// reader of text, with a label for each distance.
  void read_template(std::string_view text, bool call) {
    SassShape::Part part;
    bool in_brackets = false;
    while (!text.empty()) {
      char c = text[0];
      // Sets of barriers, {5,3,2}, have braces too.
      const bool names = c == '{' && text.size() > 1 && !(text[1] >= '0' && text[1] <= '9');
      size_t close = names ? text.find('}') : text.npos;
      if (close == text.npos) {
        if (c == '[') in_brackets = true;
        if (c == ']' || c == ',') in_brackets = false;
        text.remove_prefix(1);
        part.before += c == ',' ? ", " : std::string(1, c);
        if (c == ',' && !text.empty() && text[0] == ' ') text.remove_prefix(1);
        continue;
      }
      finish_part(text.substr(1, close - 1), in_brackets, call, part);
      text.remove_prefix(close + 1);
      shape_.operands.push_back(std::move(part));
      part = {};
    }
    probe_ += part.before;
    if (!part.before.empty()) shape_.operands.push_back(std::move(part));
  }

  void finish_part(std::string_view reference, bool in_brackets, bool call, SassShape::Part& part) {
    std::optional<Reference> named = reference_in(reference);
    if (!named) return;
    const std::string_view file = named->file;
    const unsigned at = named->at;
    if (file == "#") return finish_literal(at, call && !in_brackets, part);
    const SassField* field = entry_->field(at);
    if (!field) return;
    part.kind = SassShape::Part::Kind::register_;
    part.file = file_of(file);
    part.field = {field->start, width_of(part.file, *field, table_.compute)};
    if (part.file == RegisterFile::general && !in_brackets) part.reuse = reuse_of(at);
    probe_ += part.before;
    positions_.emplace_back(probe_.size(), shape_.operands.size());
    append_register(part.file, part.field.in(word_), (1u << part.field.width) - 1, probe_);
  }

  /// Bits of the reuse field (A, B, C) that speak of the operand at a place. Where the operand that
  /// is no register is the last one, B stands at bit 64; where there are only two, C may mean B.
  uint8_t reuse_of(unsigned at) const {
    const unsigned form = word_.bits(9, 3);
    if (at == 24) return 1;
    if (at == 32) return entry_->field(64) ? 2 : 2 | 4;
    if (at == 64) return form == 2 || form == 3 || form == 7 ? 2 : 4;
    return 0;
  }

  void finish_literal(unsigned at, bool label, SassShape::Part& part) {
    if (at >= entry_->literals.size()) return;
    part.kind = SassShape::Part::Kind::literal;
    part.literal = static_cast<uint8_t>(at);
    const bool distance = !part.before.empty() && part.before.back() == '@';
    if (distance) {
      part.before.pop_back();
      part.kind = SassShape::Part::Kind::target;
      shape_.target = static_cast<int>(at);
    } else if (label) {
      part.kind = SassShape::Part::Kind::target;
    }
    probe_ += part.before;
    if (part.kind == SassShape::Part::Kind::target)
      probe_ += "`(label)";
    else
      append_literal(*entry_, at, word_, shape_.bfloat16, probe_);
  }

  void add_registers_of(const RegisterSpan& span) {
    SassShape::Registers registers;
    registers.file = span.first.file;
    registers.field = {span.first.index, 0};
    registers.count = span.count;
    registers.defined = span.defined;
    for (auto [position, part] : positions_)
      if (position == span.position) registers.field = shape_.operands[part].field;
    shape_.registers.push_back(registers);
  }

  void add_descriptor() {
    std::optional<unsigned> bit =
        hidden_descriptor(word_.high, shape_.op_class, shape_.space, probe_ + shape_.opcode);
    if (!bit) return;
    SassShape::Registers registers;
    registers.file = RegisterFile::uniform;
    registers.field = {static_cast<uint8_t>(*bit), 6};
    registers.count = 2;
    shape_.registers.push_back(registers);
  }

  const SassTable& table_;
  const SassWord& word_;
  const SassEntry* entry_ = nullptr;
  SassShape shape_;
  std::string probe_;
  std::vector<std::pair<size_t, size_t>> positions_;  ///< in the probe, part
};

}  // namespace

/// Shapes by what of a word decides over them.
class NativeDecoder::Shapes {
 public:
  explicit Shapes(const SassTable& table) : table_(table), plans_(table.by_opcode.size()) {
    slots_.resize(1024);
    for (const SassEntry& entry : table.entries) add_to_plan(entry);
  }

  const SassShape& find(const SassWord& word) {
    const Key key = key_of(word);
    for (size_t at = hash(key);; ++at) {
      Slot& slot = slots_[at & (slots_.size() - 1)];
      if (!slot.shape) break;
      if (slot.key == key) return *slot.shape;
    }
    return add(key, ShapeMaker(table_, word).make());
  }
  size_t size() const { return count_; }

 private:
  struct Key {
    SassWord word;
    uint64_t facts = 0;
    bool operator==(const Key&) const = default;
  };
  struct Slot {
    Key key;
    std::unique_ptr<SassShape> shape;
  };
  /// What decides over the shape of an opcode's instructions: bits, and whether registers and
  /// literals have certain values.
  struct Plan {
    SassWord mask;
    std::vector<SassField> fields;
    std::vector<SassLiteral> literals;
  };

  void add_to_plan(const SassEntry& entry) {
    Plan& plan = plans_[entry.opcode];
    plan.mask.low |= entry.fixed_mask.low | 0xfff;
    plan.mask.high |= entry.fixed_mask.high;
    plan.mask.set(91);  // says whether there is a descriptor
    for (const SassField& field : entry.fields) add_field(field, plan);
    for (const SassPart& part : entry.operands) add_references(entry, part.text, plan);
    for (const SassGroup& group : entry.groups)
      for (const std::string& piece : group.pieces) add_references(entry, piece, plan);
    for (const SassGroup& group : entry.groups) {
      for (const SassAtom& atom : group.atoms) {
        if (atom.kind == SassAtom::Kind::bit) plan.mask.set(atom.at);
        if (atom.kind > SassAtom::Kind::default_register)
          plan.literals.push_back(entry.literals[atom.at]);
      }
    }
    if (!literals_matter(entry)) return;
    for (const SassLiteral& literal : entry.literals)
      for (const SassLiteral::Run& run : literal.runs)
        for (unsigned i = 0; i < run.count; ++i) plan.mask.set(run.start + i);
  }

  static void add_field(const SassField& field, Plan& plan) {
    auto same = [&](const SassField& f) {
      return f.start == field.start && f.width == field.width;
    };
    if (std::none_of(plan.fields.begin(), plan.fields.end(), same)) plan.fields.push_back(field);
  }

  /// A uniform register or a predicate may be all ones in fewer bits than the field has.
  void add_references(const SassEntry& entry, std::string_view text, Plan& plan) const {
    for (size_t open = text.find('{'); open != text.npos; open = text.find('{', open + 1)) {
      std::optional<Reference> reference = reference_in(text.substr(open + 1));
      if (!reference || reference->file == "#") continue;
      if (const SassField* field = entry.field(reference->at))
        add_field({field->start, width_of(file_of(reference->file), *field, table_.compute)}, plan);
    }
  }

  /// A mask of predicates or of a texture's components says how many registers there are.
  static bool literals_matter(const SassEntry& entry) {
    std::string_view name = entry.name.empty() ? std::string_view() : entry.name[0].text;
    if (starts_with(name, "T")) return true;
    auto sets = [](const std::string& text) { return ends_with(text, "PR"); };
    for (const SassPart& part : entry.operands)
      if (sets(part.text)) return true;
    for (const SassGroup& group : entry.groups)
      if (std::any_of(group.pieces.begin(), group.pieces.end(), sets)) return true;
    return false;
  }

  Key key_of(const SassWord& word) const {
    const Plan& plan = plans_[word.low & 0xfff];
    Key key;
    key.word = {word.low & plan.mask.low, word.high & plan.mask.high};
    if (plan.mask.low == 0) key.word.low = word.low & 0xfff;
    for (const SassField& field : plan.fields)
      key.facts = key.facts << 1 | uint64_t{field.is_default(word)};
    for (const SassLiteral& literal : plan.literals) {
      const int64_t value = literal.value(word);
      const bool power = value > 1 && (value & (value - 1)) == 0;
      uint64_t fact = value == 0 ? 1 : value == 1 ? 2 : value == 0x10000 ? 3 : power ? 4 : 0;
      key.facts = key.facts * 5 + fact;
    }
    return key;
  }

  static size_t hash(const Key& key) {
    uint64_t h =
        key.word.low * 0x9e3779b97f4a7c15 ^ (key.word.high + key.facts) * 0xc2b2ae3d27d4eb4f;
    h ^= h >> 29;
    h *= 0x94d049bb133111eb;
    return h ^ h >> 32;
  }

  const SassShape& add(const Key& key, SassShape shape) {
    if (count_ >= kMostShapes) {
      slots_.clear();
      slots_.resize(1024);
      count_ = 0;
    }
    if (++count_ * 2 > slots_.size()) grow();
    return place({key, std::make_unique<SassShape>(std::move(shape))});
  }

  const SassShape& place(Slot made) {
    size_t at = hash(made.key) & (slots_.size() - 1);
    while (slots_[at].shape) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = std::move(made);
    return *slots_[at].shape;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (Slot& slot : old)
      if (slot.shape) place(std::move(slot));
  }

  const SassTable& table_;
  std::vector<Plan> plans_;
  std::vector<Slot> slots_;
  size_t count_ = 0;
};

NativeDecoder::NativeDecoder(const SassTable& table)
    : table_(table), shapes_(std::make_unique<Shapes>(table)) {}
NativeDecoder::~NativeDecoder() = default;

const SassShape& NativeDecoder::shape(const SassWord& word) {
  return shapes_->find(word);
}
size_t NativeDecoder::shapes_seen() const {
  return shapes_->size();
}

namespace {

void append_guard(const Guard& guard, std::string& text) {
  if (guard.always) return;
  text += guard.negated ? "@!" : "@";
  append_register(guard.predicate.file, guard.predicate.index, kTrue, text);
  text += ' ';
}

Guard guard_of(const SassEntry& entry, const SassWord& word) {
  Guard guard;
  const uint8_t index = word.bits(12, 3);
  guard.negated = word.bits(15, 1);
  guard.always = index == kTrue && !guard.negated;
  if (index != kTrue && entry.uniform_guard) guard.predicate.file = RegisterFile::uniform_predicate;
  guard.predicate.index = index;
  return guard;
}

void append_operands(const SassShape& shape, const SassWord& word, const std::string& target,
                     std::string& text) {
  bool bar_first = false;  // |R1|.reuse
  for (const SassShape::Part& part : shape.operands) {
    text += part.before;
    if (bar_first && !part.before.empty())
      text.insert(text.size() - part.before.size() + 1, ".reuse");
    bar_first = false;
    switch (part.kind) {
      case SassShape::Part::Kind::none:
        break;
      case SassShape::Part::Kind::register_:
        append_register(part.file, part.field.in(word), (1u << part.field.width) - 1, text);
        if (!(part.reuse & word.bits(122, 4))) break;
        bar_first = ends_with(part.before, "|");
        if (!bar_first) text += ".reuse";
        break;
      case SassShape::Part::Kind::literal:
        append_literal(*shape.entry, part.literal, word, shape.bfloat16, text);
        break;
      case SassShape::Part::Kind::target:
        text += target;
        break;
    }
  }
}

}  // namespace

std::string NativeDecoder::text(const SassShape& shape, const SassWord& word,
                                const std::string& target) const {
  if (!shape.entry)
    return format("0x%016llx 0x%016llx", static_cast<unsigned long long>(word.low),
                  static_cast<unsigned long long>(word.high));
  std::string text;
  text.reserve(shape.text_size + shape.opcode.size());
  append_guard(guard_of(*shape.entry, word), text);
  text += shape.opcode;
  if (!shape.operands.empty()) text += ' ';
  append_operands(shape, word, target, text);
  return text;
}

void NativeDecoder::fill(const SassShape& shape, const SassWord& word, Instruction& out) const {
  out.control = decode_control(word.high);
  out.known = shape.known;
  out.opcode = shape.entry ? shape.opcode : "UNKNOWN";
  if (!shape.entry) return;
  out.guard = guard_of(*shape.entry, word);
  if (!shape.known) return;
  out.op_class = shape.op_class;
  out.space = shape.space;
  out.access_bytes = shape.access_bytes;
  out.flow = shape.flow;
  constexpr size_t kBarriers = 2;
  out.defs.reserve(shape.defined + kBarriers);
  out.uses.reserve(shape.used + 1 + kBarriers);
  for (const SassShape::Registers& registers : shape.registers) {
    RegisterSpan span{{registers.file, registers.field.start}, registers.count};
    if (registers.field.width) {
      if (registers.field.is_default(word)) continue;
      span.first.index = static_cast<uint8_t>(registers.field.in(word));
    }
    add_registers(span, registers.defined ? out.defs : out.uses);
  }
  if (!out.guard.always && out.guard.predicate.index < kTrue)
    out.uses.push_back(out.guard.predicate);
  add_barriers(out);
}

}  // namespace fathom
