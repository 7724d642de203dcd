#include "base/text.h"
#include "views/report_parts.h"

namespace fathom {
namespace {

constexpr size_t kBarWidth = 12;
constexpr size_t kTitleWidth = 40;
constexpr double kLeastShare = 0.0005;  ///< less than this would read "0.0%"

size_t depth_of(const TopDownNode& node) {
  size_t depth = 0;
  for (const TopDownNode* at = &node; at->parent != at->id; at = &topdown_node(at->parent)) ++depth;
  return depth;
}

/// Whether a node is below another (or the same).
bool is_below(TopDown id, TopDown ancestor) {
  while (id != ancestor) {
    TopDown parent = topdown_node(id).parent;
    if (parent == id) return false;
    id = parent;
  }
  return true;
}

std::string title_of(const Style& style, const TopDownNode& node) {
  std::string title = std::string(depth_of(node) * 2, ' ') + std::string(node.title);
  std::string padded = pad_right(std::move(title), kTitleWidth);
  if (is_below(node.id, TopDown::exposed)) return paint(style, Paint::bad, padded);
  if (is_below(node.id, TopDown::issues)) return paint(style, Paint::good, padded);
  return padded;
}

std::string row(const Style& style, double fraction, const std::string& title,
                std::string_view meaning) {
  std::string lead = "  " + pad_left(human_percent(fraction), 6) + "  " +
                     pad_right(bar(fraction, kBarWidth), kBarWidth) + "  " + title + "  ";
  size_t indent = 2 + 6 + 2 + kBarWidth + 2 + kTitleWidth + 2;
  return paragraph(lead, meaning, indent, style.width);
}

}  // namespace

std::string topdown_section(const Profile& profile, const Scope& scope, const Style& style) {
  TopDownCounts sums = scope.topdown.inclusive();
  double all = sums[TopDown::cycles];
  bool has_period = profile.run.sampling_period_log2 > 0;
  std::string text =
      heading(style, "GPU cycles of " + scope.title, human_count(uint64_t(all + 0.5)) + " samples");
  for (const TopDownNode& node : topdown_nodes()) {
    if (sums[node.id] < kLeastShare * all) continue;
    text += row(style, sums[node.id] / all, title_of(style, node), node.meaning);
    double own = scope.topdown[node.id];
    bool is_split = sums[node.id] - own > 1e-9 * all;
    if (own < kLeastShare * all || !is_split) continue;
    std::string title = std::string(depth_of(node) * 2 + 2, ' ') + "Not divided further";
    text += row(style, own / all, pad_right(std::move(title), kTitleWidth), "");
  }
  if (has_period && scope.whole)
    text +=
        "\n" +
        paint(style, Paint::dim,
              paragraph("  ",
                        "Each sample is one warp in one cycle. Issues are work; exposed stalls are "
                        "what a change "
                        "can win back; hidden stalls cost nothing. Parts below 0.05% are left out.",
                        2, style.width));
  return text;
}

}  // namespace fathom
