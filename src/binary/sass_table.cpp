#include "binary/sass_table.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>

#include "base/text.h"
#include "binary/sass_data.h"

namespace fathom {
namespace {

constexpr unsigned kBits = 128;

template <class T>
bool number(std::string_view text, T& value, int base = 10) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool wide_number(std::string_view text, SassWord& word) {
  size_t low = text.size() > 16 ? text.size() - 16 : 0;
  if (low && !number(text.substr(0, low), word.high, 16)) return false;
  return number(text.substr(low), word.low, 16);
}

/// Reads one architecture's entries, line by line.
class TableReader {
 public:
  explicit TableReader(unsigned compute) : compute_(std::to_string(compute)) {
    table_.compute = compute;
  }

  Result<SassTable> read(std::string_view text) {
    size_t number = 0;
    while (!text.empty()) {
      size_t end = std::min(text.find('\n'), text.size());
      ++number;
      if (!read_line(text.substr(0, end)))
        return Error{ErrorKind::bad_input, "not a line of a table of encodings",
                     format("line %zu", number), ""};
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return finish();
  }

 private:
  bool read_line(std::string_view line) {
    if (line.empty() || line[0] == '#') return true;
    if (starts_with(line, "opcode ")) return read_opcode(line.substr(7));
    if (!wanted_) return true;
    if (line[0] == ' ') return read_row(line.substr(1));
    size_t space = std::min(line.find(' '), line.size());
    std::string_view key = line.substr(0, space);
    words_.clear();
    if (space < line.size()) words_ = split(line.substr(space + 1), ' ');
    if (key == "fixed") return read_fixed();
    if (key == "fields") return read_fields();
    if (key == "literal") return read_literal();
    if (key == "name") return read_parts(entry().name);
    if (key == "operands") return read_parts(entry().operands);
    if (key == "group") return read_group();
    return false;
  }

  SassEntry& entry() { return table_.entries.back(); }

  /// "210 P 80,86,90"
  bool read_opcode(std::string_view line) {
    std::vector<std::string_view> words = split(line, ' ');
    if (words.size() != 3) return false;
    std::vector<std::string_view> archs = split(words[2], ',');
    wanted_ = std::find(archs.begin(), archs.end(), compute_) != archs.end();
    if (!wanted_) return true;
    SassEntry made;
    made.uniform_guard = words[1] == "UP";
    if (!number(words[0], made.opcode, 16) || made.opcode >= table_.by_opcode.size()) return false;
    table_.entries.push_back(std::move(made));
    return true;
  }

  bool read_fixed() {
    return words_.size() == 2 && wide_number(words_[0], entry().fixed_mask) &&
           wide_number(words_[1], entry().fixed_value);
  }

  bool read_fields() {
    for (std::string_view word : words_) {
      if (word.empty()) continue;
      size_t colon = word.find(':');
      SassField field;
      if (colon == word.npos || !number(word.substr(0, colon), field.start) ||
          !number(word.substr(colon + 1), field.width))
        return false;
      if (field.width < 1 || field.width > 8 || field.start + field.width > kBits) return false;
      entry().fields.push_back(field);
    }
    return true;
  }

  /// "0 x 16+8*4 34+47*1024"
  bool read_literal() {
    if (words_.size() < 2 || words_[1].size() != 1) return false;
    SassLiteral literal;
    char kind = words_[1][0];
    literal.kind = kind == 'x'   ? SassLiteral::Kind::hexadecimal
                   : kind == 'd' ? SassLiteral::Kind::decimal
                                 : SassLiteral::Kind::floating;
    for (size_t i = 2; i < words_.size(); ++i) {
      size_t plus = words_[i].find('+'), times = words_[i].find('*');
      SassLiteral::Run run;
      if (plus == std::string_view::npos || times == std::string_view::npos || times < plus ||
          !number(words_[i].substr(0, plus), run.start) ||
          !number(words_[i].substr(plus + 1, times - plus - 1), run.count) ||
          !number(words_[i].substr(times + 1), run.weight))
        return false;
      if (run.count < 1 || run.count > 64 || run.start + run.count > kBits) return false;
      literal.runs.push_back(run);
    }
    if (literal.runs.empty()) return false;
    entry().literals.push_back(std::move(literal));
    return true;
  }

  /// "IADD3 $1.0": text, and the place 0 of group 1.
  bool read_parts(std::vector<SassPart>& parts) {
    for (std::string_view word : words_) {
      if (word.empty()) continue;
      SassPart part;
      if (word[0] == '$') {
        size_t dot = word.find('.');
        if (dot == word.npos || !number(word.substr(1, dot - 1), part.group) ||
            !number(word.substr(dot + 1), part.place))
          return false;
      } else {
        part.text = spaced(word);
      }
      parts.push_back(std::move(part));
    }
    return true;
  }

  static std::string spaced(std::string_view word) {
    std::string text(word);
    std::replace(text.begin(), text.end(), '%', ' ');
    return text;
  }

  /// "63 72 R24 Z0"
  bool read_group() {
    SassGroup group;
    for (std::string_view word : words_) {
      static constexpr std::string_view kLetters = "RZOWH";
      SassAtom atom;
      size_t letter = kLetters.find(word[0]);
      if (letter != kLetters.npos) {
        atom.kind = static_cast<SassAtom::Kind>(letter + 1);
        word.remove_prefix(1);
      }
      if (!number(word, atom.at) || !exists(atom)) return false;
      group.atoms.push_back(atom);
    }
    if (group.atoms.empty() || group.atoms.size() > 64) return false;
    entry().groups.push_back(std::move(group));
    return true;
  }

  bool exists(const SassAtom& atom) {
    if (atom.kind == SassAtom::Kind::bit) return atom.at < kBits;
    if (atom.kind == SassAtom::Kind::default_register) return entry().field(atom.at);
    return atom.at < entry().literals.size();
  }

  /// "3c X {R24},~{R64}": a combination and its pieces.
  bool read_row(std::string_view line) {
    if (table_.entries.empty() || entry().groups.empty()) return false;
    SassGroup& group = entry().groups.back();
    std::vector<std::string_view> words = split(line, ' ');
    uint64_t combination = 0;
    if (!number(words[0], combination, 16)) return false;
    group.rows.emplace_back(combination, static_cast<uint32_t>(group.pieces.size()));
    if (words.size() == 2 && words[1].empty()) words.pop_back();
    if (group.rows.size() == 1) group.places = words.size() - 1;
    if (words.size() - 1 != group.places) return false;
    for (size_t i = 1; i < words.size(); ++i)
      group.pieces.push_back(words[i] == "-" ? "" : spaced(words[i]));
    return true;
  }

  bool parts_exist(const std::vector<SassPart>& parts, const SassEntry& of) const {
    return std::all_of(parts.begin(), parts.end(), [&](const SassPart& part) {
      return part.group < 0 || (static_cast<size_t>(part.group) < of.groups.size() &&
                                part.place < of.groups[part.group].places);
    });
  }

  Result<SassTable> finish() {
    for (uint32_t i = 0; i < table_.entries.size(); ++i) {
      SassEntry& made = table_.entries[i];
      if (!parts_exist(made.name, made) || !parts_exist(made.operands, made))
        return Error{ErrorKind::bad_input, "a place that no group has",
                     format("opcode %03x", made.opcode), ""};
      for (SassGroup& group : made.groups) std::sort(group.rows.begin(), group.rows.end());
      auto& [first, count] = table_.by_opcode[made.opcode];
      if (count == 0) first = i;
      if (first + count != i)
        return Error{ErrorKind::bad_input, "entries of an opcode that do not stand together",
                     format("opcode %03x", made.opcode), ""};
      ++count;
    }
    return std::move(table_);
  }

  std::string compute_;
  SassTable table_;
  bool wanted_ = false;
  std::vector<std::string_view> words_;
};

}  // namespace

int64_t SassLiteral::value(const SassWord& word) const {
  uint64_t sum = 0;
  for (const Run& run : runs)
    sum += word.bits(run.start, run.count) * static_cast<uint64_t>(run.weight);
  return static_cast<int64_t>(sum);
}

const SassField* SassEntry::field(unsigned start) const {
  for (const SassField& candidate : fields)
    if (candidate.start == start) return &candidate;
  return nullptr;
}

bool SassEntry::holds(const SassAtom& atom, const SassWord& word) const {
  if (atom.kind == SassAtom::Kind::bit) return word.bits(atom.at, 1);
  if (atom.kind == SassAtom::Kind::default_register) return field(atom.at)->is_default(word);
  const int64_t value = literals[atom.at].value(word);
  if (atom.kind == SassAtom::Kind::zero) return value == 0;
  if (atom.kind == SassAtom::Kind::one) return value == 1;
  if (atom.kind == SassAtom::Kind::half_word) return value == 0x10000;
  return value > 1 && value != 0x10000 && (value & (value - 1)) == 0;
}

std::optional<std::vector<uint32_t>> SassEntry::match(const SassWord& word) const {
  if ((word.low & fixed_mask.low) != fixed_value.low ||
      (word.high & fixed_mask.high) != fixed_value.high)
    return std::nullopt;
  std::vector<uint32_t> chosen;
  for (const SassGroup& group : groups) {
    uint64_t combination = 0;
    for (size_t i = 0; i < group.atoms.size(); ++i)
      combination |= uint64_t{holds(group.atoms[i], word)} << i;
    auto row = std::lower_bound(group.rows.begin(), group.rows.end(),
                                std::pair<uint64_t, uint32_t>(combination, 0));
    if (row == group.rows.end() || row->first != combination) return std::nullopt;
    chosen.push_back(row->second);
  }
  return chosen;
}

Result<SassTable> parse_sass_table(std::string_view text, unsigned compute) {
  return TableReader(compute).read(text);
}

const SassTable* native_table(unsigned compute) {
  static std::mutex guard;
  static std::map<unsigned, std::unique_ptr<SassTable>> tables;
  std::lock_guard lock(guard);
  auto found = tables.find(compute);
  if (found == tables.end()) {
    Result<SassTable> parsed = parse_sass_table(sass_data(), compute);
    FATHOM_INVARIANT(parsed.ok());
    std::unique_ptr<SassTable> kept;
    if (!parsed->entries.empty()) kept = std::make_unique<SassTable>(std::move(*parsed));
    found = tables.emplace(compute, std::move(kept)).first;
  }
  return found->second.get();
}

}  // namespace fathom
