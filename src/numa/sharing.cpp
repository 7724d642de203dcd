// Cache lines that wander between cores: who uses which words of them?

#include <algorithm>
#include <map>

#include "base/text.h"
#include "numa/findings.h"
#include "numa/heap_types.h"

namespace fathom {
namespace {

constexpr size_t kMostLines = 2;     ///< in a text
constexpr size_t kMostParts = 8;     ///< of a line or of an object, in a text
constexpr double kUsesLine = 0.005;  ///< of all accesses to a line
constexpr double kUsesWord = 0.01;   ///< of a thread's accesses to its most used word
constexpr uint64_t kPairOfLines = 2 * kBytesOfLine;

/// A part of a struct, as DataVariable::type names it.
struct Field {
  std::string name;
  uint64_t offset = 0, size = 0;
};

bool read_number(std::string_view text, uint64_t& value) {
  value = 0;
  if (text.empty() || text.size() > 12) return false;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
    value = 10 * value + uint64_t(c - '0');
  }
  return true;
}

/// "pair {first:0:8, second:8:8}" -> its fields; none if it is no struct.
std::vector<Field> fields_of(const std::string& type) {
  std::vector<Field> fields;
  size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return fields;
  for (std::string_view text :
       split(std::string_view(type).substr(open + 1, close - open - 1), ',')) {
    text = trim(text);
    size_t second = text.rfind(':');
    size_t first =
        second == std::string_view::npos || second == 0 ? second : text.rfind(':', second - 1);
    if (first == std::string_view::npos || second == 0) continue;
    Field field{std::string(text.substr(0, first)), 0, 0};
    if (read_number(text.substr(first + 1, second - first - 1), field.offset) &&
        read_number(text.substr(second + 1), field.size))
      fields.push_back(std::move(field));
  }
  return fields;
}

double use_of(const NumaLineShare& share, size_t word) {
  return double(share.reads[word]) + double(share.writes[word]);
}

double use_of(const NumaLineShare& share) {
  double sum = 0;
  for (size_t word = 0; word < kWordsOfLine; ++word) sum += use_of(share, word);
  return sum;
}

/// "thread 1", "threads 1, 2 and 3"
std::string threads_text(std::vector<std::string> numbers) {
  std::string last = numbers.back();
  numbers.pop_back();
  return numbers.empty() ? "thread " + last : "threads " + join(numbers, ", ") + " and " + last;
}

/// How to say in the source that something begins at a cache line; empty where one cannot.
std::string how_to_align(const SourceLocation& at) {
  std::string ending = at.file.substr(std::min(at.file.rfind('.'), at.file.size()));
  bool is_fortran = ending.size() > 1 && (ending[1] == 'f' || ending[1] == 'F');
  return is_fortran ? "" : " (alignas(64))";
}

/// "word 3", "words 0 to 1"
std::string words_text(size_t first, size_t last) {
  return first == last ? format("word %zu", first) : format("words %zu to %zu", first, last);
}

class SharingSearch {
 public:
  SharingSearch(const NumaView& view, const Subject& subject) : view_(view), subject_(subject) {
    if (subject.variable) {
      fields_ = fields_of(subject.variable->type);
      extent_ = subject.variable->size;
      element_ = subject.variable->element_size;
    } else if (auto type = heap_type_of(view, subject); type) {
      name_heap(*type);
    }
    find_stride();
  }

  Finding describe(bool is_false) const {
    Finding finding = finding_about(view_, subject_);
    finding.kind = is_false ? "false-sharing" : "true-sharing";
    const NumaObjectFacts& facts = subject_.facts;
    double count = is_false ? facts.false_invalidations : facts.true_invalidations;
    finding.evidence = {
        {is_false ? "false-sharing score" : "true-sharing score",
         is_false ? facts.false_score : facts.true_score, "invalidations per ms and other thread"},
        {is_false ? "invalidations by other words" : "invalidations by the same words", count,
         "invalidations"},
        {"accesses to the object", std::max(subject_.accesses(), subject_.accesses_to_lines()),
         "accesses"},
        {"shared cache lines", double(subject_.lines.size()), "lines"},
        {"threads that share them", double(threads_of_lines()), "threads"}};
    if (is_false)
      describe_false(finding);
    else
      describe_true(finding);
    apply(gain_of_padding(view_.options.topology, view_.load, subject_, count), finding);
    return finding;
  }

 private:
  size_t threads_of_lines() const {
    std::map<uint32_t, bool> threads;
    for (const NumaLine* line : subject_.lines)
      for (const NumaLineShare& share : line->shares) threads[share.thread] = true;
    return threads.size();
  }

  /// Names the fields of a struct on the heap, if all words that are used much are of fields that
  /// code accessed as such: what lies before the structs would move them, for one.
  void name_heap(const HeapType& type) {
    std::vector<Field> fields = fields_of(type.text);
    auto is_accessed = [&](const Field& field) {
      auto first = std::lower_bound(type.offsets.begin(), type.offsets.end(), field.offset);
      return first != type.offsets.end() &&
             *first - field.offset < std::max(field.size, uint64_t{1});
    };
    for (const NumaLine* line : subject_.lines)
      for (const NumaLineShare& share : line->shares)
        for (size_t word = 0; word < kWordsOfLine; ++word) {
          uint64_t address = line->address + word * kBytesOfWord;
          if (use_of(share, word) <= kUsesWord * use_of(share) || address < subject_.base ||
              address - subject_.base >= subject_.facts.bytes)
            continue;
          uint64_t offset = (address - subject_.base) % type.size;
          if (std::none_of(fields.begin(), fields.end(), [&](const Field& field) {
                return holds(field, offset) && is_accessed(field);
              }))
            return;
        }
    fields_ = std::move(fields);
    extent_ = subject_.facts.bytes;
    element_ = extent_ > type.size ? type.size : 0;
    struct_ = type.text.substr(0, type.text.find(" {"));
  }

  static bool holds(const Field& field, uint64_t offset) {
    return offset >= field.offset && offset - field.offset < field.size;
  }

  /// By how many bytes the threads' parts of the object follow each other, if they do so regularly.
  void find_stride() {
    stride_ = element_;
    if (stride_ || !fields_.empty()) return;
    std::map<uint64_t, uint32_t> owners;  // by the address of a word: who writes it most
    for (const NumaLine* line : subject_.lines)
      for (size_t word = 0; word < kWordsOfLine; ++word)
        if (uint32_t owner = writer_of(*line, word); owner != kNoId)
          owners[line->address + word * kBytesOfWord] = owner;
    std::map<uint64_t, size_t> distances;
    uint64_t last = 0;
    uint32_t owner = kNoId;
    size_t all = 0;
    for (auto [address, thread] : owners) {
      if (thread == owner) continue;
      if (owner != kNoId) ++distances[address - last], ++all;
      owner = thread;
      last = address;
    }
    for (auto [distance, count] : distances)
      if (2 * count >= all && distance < kPairOfLines) stride_ = distance;
  }

  static uint32_t writer_of(const NumaLine& line, size_t word) {
    uint32_t writer = kNoId;
    uint32_t most = 0;
    for (const NumaLineShare& share : line.shares)
      if (share.writes[word] > most) most = share.writes[word], writer = share.thread;
    return writer;
  }

  /// Which words of a line a thread uses, in words or by the names of fields and variables.
  std::string part_of(const NumaLine& line, const NumaLineShare& share) const {
    double most = 0;
    for (size_t word = 0; word < kWordsOfLine; ++word) most = std::max(most, use_of(share, word));
    std::vector<std::string> parts;
    for (size_t word = 0; word < kWordsOfLine;) {
      if (use_of(share, word) <= kUsesWord * most) {
        ++word;
        continue;
      }
      size_t first = word;
      std::string name = name_of(line, word);
      while (word < kWordsOfLine && use_of(share, word) > kUsesWord * most &&
             name_of(line, word) == name)
        ++word;
      std::string text = words_text(first, word - 1);
      parts.push_back(name.empty() ? text : name + " (" + text + ")");
    }
    if (parts.size() > kMostParts) {
      std::string more = format("%zu more", parts.size() - kMostParts);
      parts.resize(kMostParts);
      parts.push_back(more);
    }
    return join(parts, ", ");
  }

  /// The field, the element or the neighbouring variable that a word belongs to; may be empty.
  std::string name_of(const NumaLine& line, size_t word) const {
    uint64_t address = line.address + word * kBytesOfWord;
    if (address < subject_.base || address - subject_.base >= extent_)
      return subject_.variable ? neighbour_at(line, address) : "";
    uint64_t offset = address - subject_.base;
    std::string name;
    if (element_) {
      name = format("[%llu]", static_cast<unsigned long long>(offset / element_));
      offset %= element_;
    }
    for (const Field& field : fields_)
      if (holds(field, offset)) return name + (name.empty() ? "" : ".") + field.name;
    return name;
  }

  std::string neighbour_at(const NumaLine& line, uint64_t address) const {
    uint32_t module = view_.numa.objects[line.object].module;
    const auto* variables = view_.names.variables(module);
    const CpuModule* known = view_.names.module(module);
    if (variables == nullptr || known == nullptr) return "";
    const DataVariable* other = variable_at(*variables, address - known->bias);
    return other ? source_name(other->name) : "";
  }

  /// "words 0 to 1 by thread 1; words 2 to 3 by threads 2 and 3"
  std::string parts_text(const NumaLine& line) const {
    std::vector<const NumaLineShare*> shares;
    double all = 0;
    for (const NumaLineShare& share : line.shares) {
      shares.push_back(&share);
      all += use_of(share);
    }
    std::stable_sort(shares.begin(), shares.end(),
                     [](const auto* a, const auto* b) { return a->thread < b->thread; });
    std::vector<std::pair<std::string, std::vector<std::string>>> users;  // of each part
    std::vector<std::string> unknown;
    for (const NumaLineShare* share : shares) {
      if (use_of(*share) == 0 && share->thread != kNoId)
        unknown.push_back(std::to_string(view_.numa.threads[share->thread].index));
      if (use_of(*share) <= kUsesLine * all) continue;
      std::string part = part_of(line, *share);
      auto known = std::find_if(users.begin(), users.end(),
                                [&](const auto& user) { return user.first == part; });
      if (known == users.end()) known = users.insert(users.end(), {part, {}});
      known->second.push_back(share->thread == kNoId
                                  ? "others"
                                  : std::to_string(view_.numa.threads[share->thread].index));
    }
    std::vector<std::string> texts;
    for (const auto& [part, threads] : users)
      if (!part.empty() && texts.size() < kWordsOfLine)
        texts.push_back(part + " by " + threads_text(threads));
    if (!unknown.empty())
      texts.push_back("words that were not counted by " + threads_text(unknown));
    return join(texts, "; ");
  }

  std::string lines_text() const {
    std::string text;
    for (size_t i = 0; i < subject_.lines.size() && i < kMostLines; ++i) {
      const NumaLine& line = *subject_.lines[i];
      text += i ? " In the next one" : " In the hottest line";
      if (line.address >= subject_.base && subject_.facts.count <= 1)
        text += format(", at byte %llu of it",
                       static_cast<unsigned long long>(line.address - subject_.base));
      std::string parts = parts_text(line);
      text += ": " + (parts.empty() ? "words that were not counted" : parts) + ".";
    }
    return text;
  }

  void describe_false(Finding& finding) const {
    finding.fix = "padding";
    finding.title = "Threads write to different data in the same cache lines";
    finding.text =
        "A core that writes takes the whole line of 64 bytes away from the others, although "
        "these use other words of it (a word has 4 bytes)." +
        lines_text();
    if (!fields_.empty() && stride_ == 0) {
      finding.suggestions = {
          "put " + contested_fields() +
          " on lines of their own: alignas(64) before each of them, or move what "
          "is only read away from what is written"};
    } else if (stride_ > 0) {
      uint64_t padded = (stride_ + kBytesOfLine - 1) / kBytesOfLine * kBytesOfLine;
      std::string what = fields_.empty()   ? "the array's elements"
                         : struct_.empty() ? "the struct"
                                           : "the struct " + struct_;
      finding.suggestions = {
          stride_ % kBytesOfLine == 0
              ? std::string("align the array to 64 bytes: its elements have whole lines, but begin "
                            "in the middle of one")
              : format("pad %s from a stride of %llu bytes to %llu%s, so that each "
                       "thread's part has lines of its own",
                       what.c_str(), static_cast<unsigned long long>(stride_),
                       static_cast<unsigned long long>(padded),
                       how_to_align(subject_.facts.at).c_str()),
          "or let each thread add up in a local variable and write the result once"};
    } else {
      finding.suggestions = {
          "begin each thread's part at a multiple of 64 bytes: align the memory and round the "
          "parts "
          "up",
          "or let each thread work on a local copy and write the result once"};
    }
    finding.suggestions.push_back(
        "use 128 bytes instead of 64 where the hardware fetches lines in pairs (most x86 "
        "processors)");
  }

  /// The names of the fields that several threads' lines hold.
  std::string contested_fields() const {
    std::vector<std::string> names;
    for (const NumaLine* line : subject_.lines)
      for (size_t word = 0; word < kWordsOfLine; ++word) {
        std::string name = name_of(*line, word);
        bool used = std::any_of(line->shares.begin(), line->shares.end(),
                                [&](const NumaLineShare& s) { return use_of(s, word) > 0; });
        if (used && !name.empty() && names.size() < kMostParts &&
            std::find(names.begin(), names.end(), name) == names.end())
          names.push_back(name);
      }
    return names.empty() ? "the fields" : join(names, ", ");
  }

  void describe_true(Finding& finding) const {
    finding.title = "Threads write to the same data, which wanders between their cores";
    finding.text = "Each write takes the line away from the other cores that use the same words." +
                   lines_text();
    finding.suggestions = {
        "give each thread its own copy, on a cache line of its own, and combine the copies at the "
        "end or now and then",
        "write less often: collect several changes in a local variable first",
        "where it is a lock or a counter, use one for each node or for each part of the data"};
  }

  const NumaView& view_;
  const Subject& subject_;
  std::vector<Field> fields_;
  uint64_t extent_ = 0;   ///< bytes from the subject's base on whose parts have names
  uint64_t element_ = 0;  ///< bytes of an array's elements there; 0: it is none
  std::string struct_;    ///< name of the struct, of memory on the heap
  uint64_t stride_ = 0;
};

}  // namespace

void find_sharing(const NumaView& view, std::vector<Finding>& findings) {
  for (const Subject& subject : view.subjects) {
    bool is_false = subject.facts.false_score > view.options.thresholds.false_sharing;
    bool is_true = subject.facts.true_score > view.options.thresholds.true_sharing;
    if (!is_false && !is_true) continue;
    SharingSearch search(view, subject);
    if (is_false) findings.push_back(search.describe(true));
    if (is_true) findings.push_back(search.describe(false));
  }
}

}  // namespace fathom
