#pragma once
// How `fathom inspect` shows images and functions.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/inspect_code.h"
#include "views/layout.h"

namespace fathom {

using Json = nlohmann::ordered_json;

/// "image 3: cubin for sm_90a, 3.7 KiB (1.1 KiB as zstd), in .nv_fatbin"
std::string image_title(const GpuImage& image);
/// One line: what --list shows.
std::string image_line(const GpuImage& image);
/// What is in which section: cubins by architecture, other images by kind.
std::string image_totals(const std::vector<const GpuImage*>& images);
/// One line: what --summary shows.
std::string summary_line(const GpuImage& image, const CodeCounts& counts);
std::string counts_text(const CodeCounts& counts);

/// Resources, loops and instruction mix.
std::string function_text(const FunctionCode& code, const Style& style);

/// Reads source files once; remembers those that are missing.
class SourceLines {
 public:
  /// The line's text; empty if the file cannot be read or has no such line.
  std::string_view line(const std::string& path, uint32_t number);

 private:
  struct File {
    std::string text;
    std::vector<std::string_view> lines;
  };
  std::map<std::string, File> files_;
};
/// SASS beside source lines, with the control fields as words.
std::string listing_text(const FunctionCode& code, SourceLines& sources, const Style& style);

/// Basic blocks and loops in the DOT language: a `subgraph` for each function.
std::string dot_text(const FunctionCode& code, const GpuImage& image);

Json json_of(const GpuImage& image);
Json json_of(const CodeCounts& counts);
Json json_of(const FunctionCode& code, bool with_instructions, bool with_blocks);

}  // namespace fathom
