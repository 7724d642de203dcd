// How fast PTX is read: parse_speed FILE [MEGABYTES]. The file's functions are repeated until the
// text has that size.

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/files.h"
#include "base/text.h"
#include "binary/ptx.h"

int main(int argc, char** argv) {
  using namespace fathom;
  if (argc < 2) {
    std::fprintf(stderr, "parse_speed FILE [MEGABYTES]\n");
    return 2;
  }
  Result<std::string> file = read_text_file(argv[1]);
  if (!file) {
    std::fprintf(stderr, "%s\n", file.error().message().c_str());
    return 3;
  }
  std::string text = *file;
  if (argc > 2) {
    const size_t wanted = std::strtoull(argv[2], nullptr, 10) * 1'000'000;
    const size_t head = text.find('\n', text.find(".address_size"));
    if (head == std::string::npos) return 3;
    const std::string body = text.substr(head);
    text.reserve(wanted + body.size());
    while (text.size() < wanted) text += body;
  }
  const auto start = std::chrono::steady_clock::now();
  const Result<PtxModule> module = parse_ptx(text, argv[1]);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (!module) {
    std::fprintf(stderr, "%s\n", module.error().message().c_str());
    return 3;
  }
  size_t instructions = 0;
  for (const PtxFunction& function : module->functions)
    instructions += function.instructions.size();
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  std::printf("%.1f MB, %s functions, %s instructions: %.3f s, %.1f MB/s\n", megabytes,
              human_count(module->functions.size()).c_str(), human_count(instructions).c_str(),
              taken.count(), megabytes / taken.count());
}
