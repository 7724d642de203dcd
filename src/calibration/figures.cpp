#include "calibration/figures.h"

#include <algorithm>

namespace fathom {

Figure figure_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples.front(), samples.back()};
}

Figure scaled(const Figure& figure, double factor) {
  return {figure.value * factor, figure.low * factor, figure.high * factor};
}

}  // namespace fathom
