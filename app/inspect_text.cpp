#include <algorithm>

#include "app/inspect_views.h"
#include "base/text.h"

namespace fathom {
namespace {

std::string storage(const GpuImage& image) {
  std::string text = human_bytes(image.size);
  if (image.compression != Compression::none)
    text += format(" (%s as %s)", human_bytes(image.payload.size()).c_str(),
                   name_of(image.compression));
  if (image.encrypted) text += ", encrypted";
  if (image.has_debug) text += ", with debug information";
  if (!image.is_64_bit) text += ", 32-bit";
  return text;
}

std::string name_and_place(const GpuImage& image) {
  std::string text;
  if (!image.identifier.empty()) text += ", of " + printable(image.identifier);
  if (!image.place.empty()) text += ", in " + printable(image.place);
  return text;
}

/// Largest first; those with the same count in the classes' order.
std::string mix_text(const FunctionCode& code) {
  const std::array<uint64_t, kOpClasses> mix = code.mix();
  std::vector<size_t> order;
  for (size_t i = 0; i < kOpClasses; ++i)
    if (mix[i]) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return mix[a] > mix[b]; });
  std::vector<std::string> parts;
  for (size_t i : order)
    parts.push_back(format("%s %llu", name_of(static_cast<OpClass>(i)),
                           static_cast<unsigned long long>(mix[i])));
  return join(parts, ", ");
}

std::string resources_text(const FunctionCode& code) {
  const KernelResources& resources = code.resources;
  std::string text = code.symbol->is_kernel ? "kernel" : "device function";
  if (resources.registers) text += format(", %u registers", resources.registers);
  if (code.symbol->is_kernel)
    text += format(", %u bytes of shared memory", resources.static_shared);
  text += format(", %u bytes of stack", resources.stack);
  if (resources.max_threads) text += format(", at most %u threads a block", resources.max_threads);
  const uint64_t loads = code.local_loads(), stores = code.local_stores();
  if (loads + stores)
    text += ", local memory (spills and arrays): " + counted(loads, "load", "loads") + " and " +
            counted(stores, "store", "stores");
  return text;
}

std::string callees_text(const FunctionCode& code) {
  std::vector<std::string> names;
  for (const std::string& name : code.callees()) names.push_back(printable(demangle(name)));
  return names.empty() ? "" : "calls " + join(names, ", ");
}

}  // namespace

std::string image_title(const GpuImage& image) {
  return format("image %u: %s for %s, ", image.index, name_of(image.kind), image.arch.c_str()) +
         storage(image) + name_and_place(image);
}

std::string image_line(const GpuImage& image) {
  return format("image %5u  %-7s  %-11s  ", image.index, name_of(image.kind), image.arch.c_str()) +
         storage(image) + name_and_place(image) + "\n";
}

std::string image_totals(const std::vector<const GpuImage*>& images) {
  std::map<std::string, std::map<std::string, uint64_t>> by_place;
  for (const GpuImage* image : images) {
    // Members of an archive together: what counts is the section.
    const size_t member = image->place.rfind(": ");
    std::string place =
        member == std::string::npos ? image->place : image->place.substr(member + 2);
    ++by_place[place][std::string(name_of(image->kind)) + " " + image->arch];
  }
  std::string text;
  for (const auto& [place, kinds] : by_place) {
    uint64_t count = 0;
    std::vector<std::string> parts;
    for (const auto& [kind, number] : kinds) {
      count += number;
      parts.push_back(format("%s: %llu", kind.c_str(), static_cast<unsigned long long>(number)));
    }
    text += "total";
    if (!place.empty()) text += " in " + printable(place);
    text += ": " + counted(count, "image", "images") + " (" + join(parts, ", ") + ")\n";
  }
  return text;
}

std::string counts_text(const CodeCounts& counts) {
  return counted(counts.functions, "function", "functions") + ", " +
         counted(counts.instructions, "instruction", "instructions") + ", " +
         counted(counts.loops, "loop", "loops") + ", " + human_count(counts.unknown) + " unknown";
}

std::string summary_line(const GpuImage& image, const CodeCounts& counts) {
  return format("image %5u  %-11s  ", image.index, image.arch.c_str()) + counts_text(counts) + "\n";
}

std::string function_text(const FunctionCode& code, const Style& style) {
  const CodeCounts counts = code.counts();
  std::string size = counted(counts.instructions, "instruction", "instructions") + ", ";
  size += counted(counts.loops, "loop", "loops");
  if (code.loop_depth() > 1) size += format(" (nested %u deep)", code.loop_depth());
  if (counts.unknown) size += ", " + human_count(counts.unknown) + " instructions unknown";
  std::string text = "  " + paint(style, Paint::strong, printable(code.demangled)) + "\n";
  for (const std::string& line : {resources_text(code), size, mix_text(code), callees_text(code)})
    if (!line.empty()) text += paragraph("    ", line, 4, style.width);
  return text;
}

}  // namespace fathom
