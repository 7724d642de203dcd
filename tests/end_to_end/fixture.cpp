#include "fixture.h"

#include "advice/advice.h"
#include "base/files.h"
#include "base/text.h"

namespace fathom::testing {

std::string source_path(const std::string& relative) {
  return std::string(FATHOM_SOURCE_DIR) + "/" + relative;
}
std::string fixture_path() {
  return source_path("tests/fixtures/h200-samples");
}

const Measurement& fixture_measurement() {
  static const Measurement measurement = [] {
    Result<Measurement> read = read_measurement(fixture_path());
    if (!read.ok()) std::fprintf(stderr, "%s\n", read.error().message().c_str());
    return std::move(read).value();
  }();
  return measurement;
}

Attribution analyze_fixture(DecoderKind decoder) {
  AttributionOptions options;
  options.source_roots = {FATHOM_SOURCE_DIR};
  options.decoder = decoder;
  Attribution result = attribute(fixture_measurement(), options).value();
  advise(result);
  return result;
}

const Attribution& fixture() {
  static const Attribution attribution = analyze_fixture(DecoderKind::native);
  return attribution;
}

std::vector<Pair> pairs() {
  std::string text = read_text_file(source_path("samples/cuda/pairs.tsv")).value();
  std::vector<Pair> result;
  for (std::string_view line : split(text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string_view> cells = split(line, '\t');
    result.push_back({std::string(cells.at(0)), std::string(cells.at(1)), std::string(cells.at(2)),
                      std::string(cells.at(3))});
  }
  return result;
}

}  // namespace fathom::testing
