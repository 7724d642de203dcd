// Pages that one thread touched first and others use: where should they be?

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "numa/findings.h"

namespace fathom {
namespace {

/// Smaller objects stay in each core's cache, and no page can be placed for them alone.
constexpr uint64_t kLeastBytes = kBytesOfPage;
constexpr double kNearlyAll = 0.9;
constexpr double kMostPages = 0.8;     ///< of the remote accesses: in pages with an owner
constexpr size_t kMostNeighbours = 4;  ///< that may own a page together
constexpr size_t kMostRanges = 16;     ///< in a suggestion

/// Sums over a subject's pages, and the pages' owners.
struct PageUse {
  double remote = 0, reads = 0;  ///< remote accesses, and how many of them are reads
  double after_last_write = 0;   ///< remote reads
  double owned = 0;              ///< remote accesses in pages with an owner
  double made_local = 0;         ///< of them by the owner
  double owned_alone = 0;        ///< remote accesses in pages that one thread owns alone
  std::set<uint32_t> threads;    ///< that access the pages
  std::set<uint32_t> owners;
  size_t changes = 0;  ///< of the owner from one page to the next
};

/// The threads that need a page, first to last by number; `none` if these are too many.
struct Owner {
  uint32_t first = kNoId, last = kNoId;
  double accesses = 0;
  bool none() const { return first == kNoId; }
  bool operator==(const Owner& other) const { return first == other.first && last == other.last; }
};

double remote_of(const NumaPage& page) {
  return double(page.remote_reads) + double(page.remote_writes);
}
double accesses_of(const NumaPageShare& share) {
  return double(share.reads) + double(share.writes);
}

/// Whether the first thread has set a page up and no more: it accessed each word once or twice.
bool is_setup(const NumaPage& page, double accesses) {
  constexpr double kWordsTwice = 2 * kBytesOfPage / kBytesOfWord;
  return accesses <= 2 * remote_of(page) && accesses <= kWordsTwice + remote_of(page) / 10;
}

/// Accesses of a page by the number of the thread (NumaThread::index), without its setting up.
std::map<uint32_t, double> users_of(const NumaView& view, const NumaPage& page) {
  std::map<uint32_t, double> users;
  for (const NumaPageShare& share : page.shares) {
    if (share.thread == kNoId) continue;
    if (share.thread != page.first_thread || !is_setup(page, accesses_of(share)))
      users[view.numa.threads[share.thread].index] += accesses_of(share);
  }
  return users;
}

/// The fewest neighbouring threads that do nearly all accesses to a page.
Owner owner_of(const std::map<uint32_t, double>& users, size_t most) {
  double all = 0;
  for (auto [thread, accesses] : users) all += accesses;
  for (size_t count = 1; count <= most; ++count)
    for (auto start = users.begin(); start != users.end(); ++start) {
      Owner owner{start->first, start->first, 0};
      auto at = start;
      for (size_t i = 0; i < count && at != users.end(); ++i, ++at)
        owner.last = at->first, owner.accesses += at->second;
      if (all > 0 && owner.accesses >= kNearlyAll * all) return owner;
    }
  return {};
}

/// How many threads may own a page together, so that its place still matters.
size_t neighbours_of(size_t threads) {
  return std::clamp<size_t>(threads / 2, 1, kMostNeighbours);
}

struct Range {
  uint64_t start, end;  ///< bytes from the object's start
  Owner owner;
};

class PlacementSearch {
 public:
  PlacementSearch(const NumaView& view, const Subject& subject) : view_(view), subject_(subject) {
    for (const NumaPage* page : subject.pages)
      for (auto [thread, accesses] : users_of(view, *page)) use_.threads.insert(thread);
    for (const NumaPage* page : subject.pages) add(*page);
  }

  Finding describe() const {
    Finding finding = finding_about(view_, subject_);
    finding.kind = "remote-access";
    add_evidence(finding);
    if (is_blocked(use_.owned_alone))
      suggest_blocks(finding);
    else if (use_.after_last_write >= kNearlyAll * use_.remote && use_.remote > 0)
      suggest_copies(finding);
    else if (is_blocked(use_.owned))
      suggest_blocks(finding);
    else
      suggest_interleaving(finding);
    return finding;
  }

 private:
  void add(const NumaPage& page) {
    double remote = remote_of(page);
    use_.remote += remote;
    use_.reads += double(page.remote_reads);
    use_.after_last_write += double(page.remote_after_last_write);
    Owner owner = owner_of(users_of(view_, page), neighbours_of(use_.threads.size()));
    double accesses = double(page.reads) + double(page.writes);
    uint32_t node = page.first_thread == kNoId
                        ? 0
                        : view_.numa.threads[page.first_thread].index %
                              view_.options.topology.nodes_used(view_.load.threads);
    by_node_[node] += accesses;
    all_ += accesses;
    if (owner.none()) return;
    use_.owned += remote;
    use_.made_local += std::min(remote, owner.accesses);
    if (owner.first == owner.last) use_.owned_alone += remote;
    if (ranges_.empty() || !(ranges_.back().owner == owner)) {
      ++use_.changes;
      ranges_.push_back({offset(page.address), 0, owner});
    }
    ranges_.back().end = offset(page.address) + kBytesOfPage;
    use_.owners.insert(owner.first);
  }

  uint64_t offset(uint64_t address) const {
    return address > subject_.base ? address - subject_.base : 0;
  }

  /// Whether the threads' ranges are whole: one range for each thread, or little more.
  bool is_blocked(double owned) const {
    bool by_all = use_.owners.size() >= 2 || use_.threads.size() == 1;
    return by_all && owned >= kMostPages * use_.remote && use_.changes <= 2 * use_.owners.size();
  }

  void add_evidence(Finding& finding) const {
    const NumaObjectFacts& facts = subject_.facts;
    finding.evidence = {
        {"remote score", facts.remote_score, "remote accesses per ms and other thread"},
        {"remote accesses", double(facts.remote), "accesses"},
        {"local accesses", double(facts.local()), "accesses"},
        {"remote share", subject_.accesses() > 0 ? double(facts.remote) / subject_.accesses() : 0,
         "fraction"},
        {"remote accesses that write", use_.remote > 0 ? 1 - use_.reads / use_.remote : 0,
         "fraction"},
        {"remote reads after the last write",
         use_.remote > 0 ? use_.after_last_write / use_.remote : 0, "fraction"},
        {"threads that use it", double(use_.threads.size()), "threads"},
        {"size", double(facts.bytes), "bytes"}};
    finding.title = "Memory is used by other threads than the one that touched it first";
    finding.text = format(
        "%.0f%% of the accesses to %s come from other threads than the one that touched the page "
        "first. The system puts a page on the node of that thread, so that on a machine with "
        "several nodes the others reach over to it.",
        100 * finding.evidence[3].value, facts.name.c_str());
  }

  void suggest_copies(Finding& finding) const {
    finding.fix = "duplicate";
    finding.text += " Nearly all of these accesses read what is not written any more.";
    finding.suggestions = {
        "give each node its own copy, made by a thread of that node once the data is complete",
        "or read it into memory that each thread allocates, if it is small"};
    apply(gain_of_locality(view_.options.topology, view_.load, subject_,
                           use_.after_last_write / use_.remote),
          finding);
  }

  static std::string owner_text(const Owner& owner) {
    return owner.first == owner.last ? format("thread %u", owner.first)
                                     : format("threads %u to %u", owner.first, owner.last);
  }

  std::string ranges_text() const {
    std::vector<std::string> parts;
    for (size_t i = 0; i < ranges_.size() && i < kMostRanges; ++i) {
      const Range& range = ranges_[i];
      unsigned long long first = range.start / kBytesOfPage, last = (range.end - 1) / kBytesOfPage;
      parts.push_back(
          (first == last ? format("page %llu", first) : format("pages %llu to %llu", first, last)) +
          ": " + owner_text(range.owner));
    }
    if (ranges_.size() > kMostRanges)
      parts.push_back(format("and %zu more", ranges_.size() - kMostRanges));
    return join(parts, "; ");
  }

  void suggest_blocks(Finding& finding) const {
    finding.fix = "block-interleave";
    finding.text += " Each thread works on a range of pages of its own.";
    finding.suggestions = {
        "let each thread touch its own range first: initialize it in parallel, with the same "
        "division of the work as in the loop that uses it",
        "or place the ranges with mbind() or numa_tonode_memory(), by " +
            std::string(subject_.facts.count > 1 ? "pages of the largest allocation"
                                                 : "pages of it") +
            " (4 KiB): " + ranges_text()};
    apply(gain_of_locality(view_.options.topology, view_.load, subject_,
                           use_.remote > 0 ? use_.made_local / use_.remote : 0),
          finding);
    finding.assumptions.push_back("threads stay on the node where they start");
  }

  void suggest_interleaving(Finding& finding) const {
    finding.fix = "page-interleave";
    finding.text += " Many threads use the same pages, and the data still changes.";
    finding.suggestions = {
        "spread its pages over all nodes: allocate it with numa_alloc_interleaved(), call mbind() "
        "with MPOL_INTERLEAVE, or start the program with `numactl --interleave=all`",
        "or divide the work so that each thread keeps to its own pages"};
    double most = 0;
    for (auto [node, accesses] : by_node_) most = std::max(most, accesses);
    apply(
        gain_of_spreading(view_.options.topology, view_.load, subject_, all_ > 0 ? most / all_ : 1),
        finding);
  }

  const NumaView& view_;
  const Subject& subject_;
  PageUse use_;
  std::vector<Range> ranges_;
  std::map<uint32_t, double> by_node_;  ///< accesses to the pages that lie on a node
  double all_ = 0;
};

bool is_large(const Subject& subject) {
  bool whole_pages = subject.facts.kind == "stack" || subject.facts.kind == "unknown";
  return whole_pages ? subject.pages.size() > 1 : subject.facts.bytes >= kLeastBytes;
}

}  // namespace

void find_remote_access(const NumaView& view, std::vector<Finding>& findings) {
  for (const Subject& subject : view.subjects)
    if (subject.facts.remote_score > view.options.thresholds.remote && is_large(subject))
      findings.push_back(PlacementSearch(view, subject).describe());
}

}  // namespace fathom
