#pragma once
// Finds its way in the text of `nvdisasm -c`: sections, labels, instructions.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fathom {

struct SassLine {
  uint64_t offset = 0;          ///< in the section
  std::string_view text;        ///< guard, opcode and operands
  std::string_view annotation;  ///< what stands in (* *) behind them
};
struct SassSection {
  std::vector<SassLine> lines;  ///< sorted by offset
  std::unordered_map<std::string_view, uint64_t> labels;
};

/// Keeps the text. Sections are read when they are asked for. Directives, labels and comments of
/// kinds that it does not know are passed over.
class SassText {
 public:
  explicit SassText(std::string text);
  SassText(const SassText&) = delete;
  SassText& operator=(const SassText&) = delete;

  /// By name (".text.kernel"), or null.
  const SassSection* section(std::string_view name);
  size_t section_count() const { return extents_.size(); }
  /// All names, for messages and tests.
  std::vector<std::string_view> section_names() const;

 private:
  std::string text_;
  std::unordered_map<std::string_view, std::string_view> extents_;
  std::unordered_map<std::string_view, SassSection> sections_;
};

}  // namespace fathom
