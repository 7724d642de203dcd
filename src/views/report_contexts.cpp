// The heterogeneous calling-context tree.

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "views/report_parts.h"

namespace fathom {
namespace {

constexpr const char* kColumns[] = {"GPUOP", "GKER", "GCYCLES"};
constexpr size_t kColumnCount = 3;
constexpr size_t kColumnWidth = 8;

class ContextTree {
 public:
  ContextTree(const Profile& profile, const ReportOptions& options)
      : profile_(profile),
        options_(options),
        table_(profile),
        places_(profile),
        children_(profile.contexts.size()) {
    for (size_t i = 0; i < kColumnCount; ++i) metrics_[i] = table_.find(kColumns[i]);
    for (uint32_t i = 1; i < profile.contexts.size(); ++i)
      if (is_worth_showing(i)) children_[profile.contexts[i].parent].push_back(i);
    for (std::vector<uint32_t>& siblings : children_)
      std::stable_sort(siblings.begin(), siblings.end(),
                       [&](uint32_t a, uint32_t b) { return weight(a) > weight(b); });
  }

  std::string print() {
    show(0);
    return std::move(text_);
  }
  bool cut() const { return cut_; }

 private:
  double share(uint32_t context, size_t column) const {
    double all = table_.inclusive(0, metrics_[column]);
    return all > 0 ? table_.inclusive(context, metrics_[column]) / all : 0;
  }
  std::array<double, kColumnCount> weight(uint32_t context) const {
    return {share(context, 0), share(context, 2), share(context, 1)};
  }
  bool is_worth_showing(uint32_t context) {
    if (profile_.contexts[context].kind == ContextKind::gpu_instruction) return false;
    double most = 0;
    for (size_t i = 0; i < kColumnCount; ++i) most = std::max(most, share(context, i));
    cut_ |= most > 0 && most < options_.threshold;
    return most > 0 && most >= options_.threshold;
  }

  /// Start-up and launch code: names that C and C++ reserve for the implementation, and functions
  /// without one. Only where a single path leads through it, and unless everything is asked for.
  bool is_plumbing(uint32_t id) const {
    const Context& context = profile_.contexts[id];
    bool is_cpu =
        context.kind == ContextKind::cpu_function || context.kind == ContextKind::cpu_inlined;
    if (!is_cpu || children_[id].size() != 1 || options_.threshold <= 0) return false;
    return starts_with(context.name, "_") || starts_with(context.name, "libcudart") ||
           context.name.find("+0x") != std::string::npos;
  }

  /// Walks with a stack of its own: call stacks may be deeper than ours.
  void show(uint32_t root) {
    struct Item {
      uint32_t context, depth;
      std::string first, rest;  ///< what stands before this line and before those below it
    };
    std::vector<Item> stack = {{root, 1, "", ""}};
    while (!stack.empty()) {
      Item item = std::move(stack.back());
      stack.pop_back();
      while (is_plumbing(item.context)) item.context = children_[item.context][0];
      line(item.context, item.first);
      const std::vector<uint32_t>& below = children_[item.context];
      if (options_.max_depth && item.depth >= options_.max_depth) {
        cut_ |= !below.empty();
        continue;
      }
      // An only child stands right below its parent: chains of calls need no room to the right.
      bool only = below.size() == 1;
      for (size_t i = below.size(); i-- > 0;) {
        bool last = i + 1 == below.size();
        std::string first = item.rest + (only ? "" : last ? "└─ " : "├─ ");
        std::string rest = item.rest + (only ? "" : last ? "   " : "│  ");
        stack.push_back({below[i], item.depth + 1, std::move(first), std::move(rest)});
      }
    }
  }

  void line(uint32_t context, const std::string& lead) {
    std::string numbers = " ";
    for (size_t i = 0; i < kColumnCount; ++i) {
      double value = share(context, i);
      numbers += pad_left(value > 0 ? human_percent(value) : "", kColumnWidth);
    }
    size_t used = columns(numbers) + 2 + columns(lead);
    size_t room = options_.style.width > used + 24 ? options_.style.width - used : 24;
    text_ += numbers + "  " + paint(options_.style, Paint::dim, lead) + label(context, room) + "\n";
  }

  std::string name_of_context(const Context& context) const {
    std::string place = places_.show(context.at);
    switch (context.kind) {
      case ContextKind::root:
        return "the whole program";
      case ContextKind::gpu_loop:
        return place.empty() ? "loop" : "loop at " + place;
      case ContextKind::gpu_line:
      case ContextKind::cpu_line:
        return place.empty() ? printable(context.name) : place;
      case ContextKind::cpu_inlined:
      case ContextKind::gpu_inlined:
        return show_function(context.name) + " (inlined)";
      case ContextKind::gpu_scc:
        return "functions that call each other: " + printable(context.name);
      case ContextKind::cpu_function:
      case ContextKind::gpu_function:
        return show_function(context.name);
      default:
        return printable(context.name);
    }
  }

  /// What the place of a node adds to its name.
  std::string remark(const Context& context) const {
    switch (context.kind) {
      case ContextKind::root:
      case ContextKind::gpu_loop:
        return "";
      case ContextKind::gpu_line:
      case ContextKind::cpu_line:
        return source_text(profile_, context.at);
      default:
        return places_.show(context.at);
    }
  }

  std::string label(uint32_t id, size_t room) const {
    const Context& context = profile_.contexts[id];
    bool is_gpu = context.kind >= ContextKind::gpu_operation;
    std::string name = shorten_middle(name_of_context(context), room);
    std::string extra = remark(context);
    size_t left = room - std::min(room, columns(name) + 2);
    if (is_gpu) name = paint(options_.style, Paint::accent, name);
    if (extra.empty() || left < 8) return name;
    return name + "  " + paint(options_.style, Paint::dim, shorten_end(extra, left));
  }

  const Profile& profile_;
  const ReportOptions& options_;
  MetricLookup table_;
  Places places_;
  std::array<uint32_t, kColumnCount> metrics_{};
  std::vector<std::vector<uint32_t>> children_;
  bool cut_ = false;
  std::string text_;
};

std::string totals(const MetricLookup& table) {
  double cycles = table.total("GCYCLES");
  const char* unit = cycles >= 1e9 ? "G" : cycles >= 1e6 ? "M" : "";
  double scale = cycles >= 1e9 ? 1e9 : cycles >= 1e6 ? 1e6 : 1;
  std::string text = " ";
  for (size_t i = 0; i < 2; ++i) {
    double seconds = table.total(kColumns[i]);
    text += pad_left(seconds > 0 ? human_seconds(seconds) : "", kColumnWidth);
  }
  return text + pad_left(cycles > 0 ? format("%.3g%s", cycles / scale, unit) : "", kColumnWidth);
}

}  // namespace

std::string contexts_section(const Profile& profile, const ReportOptions& options) {
  MetricLookup table(profile);
  if (profile.contexts.empty() || (table.total("GPUOP") <= 0 && table.total("GCYCLES") <= 0))
    return "";
  const Style& style = options.style;
  std::string text = heading(style, "Where it was called", "shares include everything below");
  std::string head = " ";
  for (const char* name : kColumns) head += pad_left(name, kColumnWidth);
  text += paint(style, Paint::dim, head) + "\n" + paint(style, Paint::dim, totals(table)) + "\n";
  ContextTree tree(profile, options);
  text += tree.print();
  std::string notes =
      "GPUOP: time of all GPU operations. GKER: time of kernels. GCYCLES: sampled GPU cycles. A "
      "line without "
      "a branch before it is called by the line above; start-up and launch code is not shown.";
  if (tree.cut())
    notes +=
        format(" Parts below %s or deeper than asked for are left out (--threshold, --max-depth).",
               human_percent(options.threshold).c_str());
  return text + "\n" + paint(style, Paint::dim, paragraph("  ", notes, 2, style.width));
}

}  // namespace fathom
