#include "numa/subjects.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.h"

namespace fathom {
namespace {

constexpr size_t kCallers = 3;

std::string place(const SourceLocation& at) {
  return at.file.empty() ? "" : format("%s:%u", name_of_file(at.file).c_str(), at.line);
}

uint64_t least(uint64_t value, uint64_t most) {
  return std::min(value, most);
}

class SubjectGatherer {
 public:
  SubjectGatherer(const NumaMeasurement& numa, const Names& names) : numa_(numa), names_(names) {
    subject_of_.assign(numa.objects.size(), kNoId);
  }

  std::vector<Subject> gather() {
    count_callers();
    for (uint32_t i = 0; i < numa_.objects.size(); ++i) add_object(i);
    gather_lines();
    for (const NumaPage& page : numa_.pages) add_page(page);
    for (const NumaLine& line : numa_.lines) add_line(line);
    settle();
    return std::move(subjects_);
  }

 private:
  /// What belongs together: the kind, then a call path, a module's variable or a thread.
  using Key = std::tuple<NumaObjectKind, uint32_t, uint64_t>;

  Subject& subject(const Key& key, uint32_t& index) {
    auto [entry, is_new] = index_.try_emplace(key, uint32_t(subjects_.size()));
    if (is_new) subjects_.emplace_back();
    index = entry->second;
    return subjects_[index];
  }

  void add_object(uint32_t number) {
    const NumaObject& object = numa_.objects[number];
    Key key{object.kind, 0, 0};
    switch (object.kind) {
      case NumaObjectKind::heap:
      case NumaObjectKind::mapping:
        key = {object.kind, object.call_path, 0};
        break;
      case NumaObjectKind::module_data:
        key = {object.kind, object.module, UINT64_MAX};
        break;
      case NumaObjectKind::stack:
        key = {object.kind, object.thread, 0};
        break;
      case NumaObjectKind::unknown:
        break;
    }
    Subject& one = subject(key, subject_of_[number]);
    if (one.objects.empty()) describe(object, one);
    one.objects.push_back(number);
    NumaObjectFacts& facts = one.facts;
    facts.count += object.count;
    facts.bytes += object.total_bytes;
    facts.reads += object.reads;
    facts.writes += object.writes;
    facts.remote += object.remote_accesses;
    if (object.size > largest_[subject_of_[number]]) {
      largest_[subject_of_[number]] = object.size;
      one.base = object.address;
    }
  }

  void describe(const NumaObject& object, Subject& out) const {
    switch (object.kind) {
      case NumaObjectKind::heap:
        return describe_allocation(object, "heap", out);
      case NumaObjectKind::mapping:
        return describe_allocation(object, "mapping", out);
      case NumaObjectKind::module_data: {
        const CpuModule* module = names_.module(object.module);
        out.facts.kind = "variable";
        out.facts.name = "other data of " + (module ? name_of_file(module->path) : "a module");
        return;
      }
      case NumaObjectKind::stack:
        out.facts.kind = "stack";
        out.facts.name = "stack of " + (object.thread < numa_.threads.size()
                                            ? names_.thread(numa_.threads[object.thread])
                                            : std::string("an unknown thread"));
        if (object.thread < numa_.threads.size()) locate_stack(numa_.threads[object.thread], out);
        return;
      case NumaObjectKind::unknown:
        out.facts.kind = "unknown";
        out.facts.name = "memory of unknown origin";
    }
  }

  /// From how many places each function that may allocate for its caller is called.
  void count_callers() {
    for (const NumaObject& object : numa_.objects) {
      if (object.call_path == kNoId) continue;
      std::vector<NamedFrame> frames = names_.user_frames(object.call_path);
      for (size_t i = 0; i + 1 < frames.size() && frames[i].returns_pointer; ++i)
        callers_[frames[i].function].insert({frames[i + 1].function, frames[i + 1].at});
    }
  }

  /// The first frame that is no mere helper for allocation: one that returns void*, or any pointer
  /// and is called from several places.
  size_t site_of(const std::vector<NamedFrame>& frames) const {
    size_t depth = 0;
    while (depth + 1 < frames.size()) {
      const NamedFrame& frame = frames[depth];
      auto callers = callers_.find(frame.function);
      bool shared = callers != callers_.end() && callers->second.size() > 1;
      if (!frame.returns_void_pointer && !(frame.returns_pointer && shared)) break;
      ++depth;
    }
    return depth;
  }

  void describe_allocation(const NumaObject& object, const char* kind, Subject& out) const {
    out.facts.kind = kind;
    std::vector<NamedFrame> frames = names_.user_frames(object.call_path);
    std::string what = out.facts.kind == "heap" ? "heap memory" : "mapped memory";
    if (frames.empty()) {
      out.facts.name = what + " from an unknown place";
      return;
    }
    size_t depth = site_of(frames);
    for (size_t i = 0; i < depth; ++i)
      out.callers.push_back({"allocated in", frames[i].at, short_name(frames[i].function)});
    frames.erase(frames.begin(), frames.begin() + ptrdiff_t(depth));
    const NamedFrame& site = frames.front();
    out.facts.at = site.at;
    std::string where = place(site.at);
    if (!site.function.empty())
      where = short_name(site.function) + (where.empty() ? "" : ", " + where);
    out.facts.name = what + " of " + (where.empty() ? name_of_file(site.module) : where);
    for (size_t i = 1; i < frames.size() && i <= kCallers; ++i)
      if (frames[i].at.line)
        out.callers.push_back({"called from", frames[i].at, short_name(frames[i].function)});
  }

  void locate_stack(const NumaThread& thread, Subject& out) const {
    if (thread.start_module != kNoId)
      out.facts.at = names_.code(thread.start_module, thread.start_address).back().at;
  }

  /// The subject of a variable, made when it is first met.
  uint32_t variable_subject(uint32_t object, const DataVariable& variable) {
    const NumaObject& data = numa_.objects[object];
    uint32_t index = 0;
    Subject& one = subject({NumaObjectKind::module_data, data.module, variable.address}, index);
    if (one.variable) return index;
    one.variable = &variable;
    one.objects = {object};
    one.base = variable.address + names_.module(data.module)->bias;
    one.facts.kind = "variable";
    one.facts.name = source_name(variable.name);
    one.facts.at = variable.at;
    one.facts.count = 1;
    one.facts.bytes = variable.size;
    return index;
  }

  const std::vector<DataVariable>* variables_of(uint32_t object) const {
    const NumaObject& data = numa_.objects[object];
    return data.kind == NumaObjectKind::module_data ? names_.variables(data.module) : nullptr;
  }
  uint64_t in_file(uint32_t object, uint64_t address) const {
    return address - names_.module(numa_.objects[object].module)->bias;
  }

  /// The variable with most accesses among the words of a line.
  const DataVariable* variable_of_line(const std::vector<DataVariable>& variables,
                                       const NumaLine& line) const {
    std::map<uint64_t, std::pair<double, const DataVariable*>> weights;
    uint64_t start = in_file(line.object, line.address);
    for (size_t word = 0; word < kWordsOfLine; ++word) {
      const DataVariable* variable = variable_at(variables, start + word * kBytesOfWord);
      if (variable == nullptr) continue;
      auto& weight = weights[variable->address];
      weight.second = variable;
      for (const NumaLineShare& share : line.shares)
        weight.first += double(share.reads[word]) + double(share.writes[word]);
    }
    const DataVariable* best = nullptr;
    double most = -1;
    for (const auto& [address, weight] : weights)
      if (weight.first > most) most = weight.first, best = weight.second;
    return best;
  }

  /// The lines of each page of a module's data, for pages that many variables share.
  void gather_lines() {
    for (const NumaLine& line : numa_.lines)
      if (variables_of(line.object))
        lines_[{line.object, line.address / kBytesOfPage}].push_back(&line);
  }

  /// The variable with the largest part of a page, or null.
  const DataVariable* variable_of_page(const std::vector<DataVariable>& variables,
                                       const NumaPage& page) const {
    const DataVariable* best = nullptr;
    uint64_t start = in_file(page.object, page.address), end = start + kBytesOfPage, widest = 0;
    auto first = std::lower_bound(
        variables.begin(), variables.end(), start,
        [](const DataVariable& v, uint64_t address) { return v.address + v.size <= address; });
    for (auto at = first; at != variables.end() && at->address < end; ++at) {
      uint64_t from = std::max(at->address, start), to = least(at->address + at->size, end);
      if (to > from && to - from > widest) widest = to - from, best = &*at;
    }
    return best;
  }

  /// Takes accesses from the rest of a module's data and gives them to one of its variables.
  void give(uint32_t object, const DataVariable& variable, uint64_t reads, uint64_t writes,
            uint64_t remote) {
    uint32_t index = variable_subject(object, variable);
    NumaObjectFacts &rest = subjects_[subject_of_[object]].facts, &own = subjects_[index].facts;
    reads = least(reads, rest.reads), writes = least(writes, rest.writes);
    remote = least(least(remote, reads + writes), rest.remote);
    // What is left must not have more remote accesses than accesses.
    uint64_t left = rest.reads - reads + (rest.writes - writes);
    remote = std::max(remote, rest.remote - least(rest.remote, left));
    rest.reads -= reads, rest.writes -= writes, rest.remote -= remote;
    own.reads += reads, own.writes += writes, own.remote += remote;
  }

  /// The accesses to lines that were tracked count for the lines' variables, with the page's share
  /// of remote ones. All others count for the variable of most of these accesses if they are half
  /// of the page's, and else for the one with the largest part of the page.
  void add_page(const NumaPage& page) {
    uint32_t owner = subject_of_[page.object];
    if (const auto* variables = variables_of(page.object)) {
      uint64_t reads = page.reads, writes = page.writes;
      uint64_t remote = page.remote_reads + page.remote_writes;
      std::map<uint64_t, double> known;  // accesses by the address of the variable
      double share = reads + writes ? double(remote) / (double(reads) + double(writes)) : 0;
      for (const NumaLine* line : lines_[{page.object, page.address / kBytesOfPage}]) {
        const DataVariable* variable = variable_of_line(*variables, *line);
        if (variable == nullptr) continue;
        uint64_t r = least(line->reads, reads), w = least(line->writes, writes);
        uint64_t far = least(uint64_t(share * (double(r) + double(w))), remote);
        give(page.object, *variable, r, w, far);
        reads -= r, writes -= w, remote -= far;
        known[variable->address] += double(r) + double(w);
      }
      const DataVariable* variable = variable_of_page(*variables, page);
      for (auto [address, accesses] : known)
        if (2 * accesses >= double(page.reads) + double(page.writes))
          variable = variable_at(*variables, address);
      if (variable) {
        give(page.object, *variable, reads, writes, remote);
        owner = variable_subject(page.object, *variable);
      }
    }
    subjects_[owner].pages.push_back(&page);
  }

  /// Whether a thread uses a word of its own while others write other words. True if that cannot be
  /// told, because no two threads' words are known.
  static bool has_own_words(const NumaLine& line) {
    std::array<size_t, kWordsOfLine> writers{};
    for (const NumaLineShare& share : line.shares)
      for (size_t word = 0; word < kWordsOfLine; ++word) writers[word] += share.writes[word] > 0;
    size_t known = 0;
    for (const NumaLineShare& share : line.shares) {
      bool others_write = false, has_own = false, any = false;
      for (size_t word = 0; word < kWordsOfLine; ++word) {
        bool is_used = share.reads[word] > 0 || share.writes[word] > 0;
        bool by_others = writers[word] > (share.writes[word] > 0 ? 1u : 0u);
        others_write = others_write || by_others;
        has_own = has_own || (is_used && !by_others);
        any = any || is_used;
      }
      if (others_write && has_own) return true;
      known += any;
    }
    return known < 2;
  }

  void add_line(const NumaLine& line) {
    uint32_t owner = subject_of_[line.object];
    if (const auto* variables = variables_of(line.object))
      if (const DataVariable* variable = variable_of_line(*variables, line))
        owner = variable_subject(line.object, *variable);
    Subject& one = subjects_[owner];
    one.lines.push_back(&line);
    // Threads that were there before the line was tracked by words cannot be told apart by these.
    bool is_false = has_own_words(line);
    one.facts.false_invalidations += is_false ? line.false_invalidations : 0;
    one.facts.true_invalidations +=
        line.true_invalidations + (is_false ? 0 : line.false_invalidations);
  }

  void settle() {
    std::erase_if(subjects_, [](const Subject& s) {
      return s.accesses() == 0 && s.pages.empty() && s.lines.empty();
    });
    for (Subject& one : subjects_) {
      // Sums of a damaged file's counts may be more than 64 bits hold.
      NumaObjectFacts& facts = one.facts;
      if (facts.remote > facts.reads && facts.remote - facts.reads > facts.writes)
        facts.remote = facts.reads;
      std::stable_sort(
          one.pages.begin(), one.pages.end(),
          [](const NumaPage* a, const NumaPage* b) { return a->address < b->address; });
      auto weight = [](const NumaLine* line) {
        return line->false_invalidations + line->true_invalidations;
      };
      std::stable_sort(one.lines.begin(), one.lines.end(),
                       [&](const NumaLine* a, const NumaLine* b) { return weight(a) > weight(b); });
    }
    std::stable_sort(subjects_.begin(), subjects_.end(), [](const Subject& a, const Subject& b) {
      return double(a.facts.remote) + a.invalidations() >
             double(b.facts.remote) + b.invalidations();
    });
  }

  const NumaMeasurement& numa_;
  const Names& names_;
  std::vector<Subject> subjects_;
  std::vector<uint32_t> subject_of_;  ///< by object
  std::map<Key, uint32_t> index_;
  std::map<std::string, std::set<std::pair<std::string, SourceLocation>>>
      callers_;                           ///< by function
  std::map<uint32_t, uint64_t> largest_;  ///< size of the largest allocation, by subject
  std::map<std::pair<uint32_t, uint64_t>, std::vector<const NumaLine*>>
      lines_;  ///< by object and page
};

}  // namespace

double Subject::accesses_to_lines() const {
  double sum = 0;
  for (const NumaLine* line : lines) sum += double(line->reads) + double(line->writes);
  return sum;
}

const DataVariable* variable_at(const std::vector<DataVariable>& variables, uint64_t address) {
  auto after = std::upper_bound(
      variables.begin(), variables.end(), address,
      [](uint64_t value, const DataVariable& variable) { return value < variable.address; });
  if (after == variables.begin()) return nullptr;
  const DataVariable& variable = *std::prev(after);
  return address - variable.address < variable.size ? &variable : nullptr;
}

std::vector<Subject> gather_subjects(const NumaMeasurement& numa, const Names& names) {
  return SubjectGatherer(numa, names).gather();
}

}  // namespace fathom
