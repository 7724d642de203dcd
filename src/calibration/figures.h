#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fathom {

/// What was measured: the median of several runs, and the lowest and highest of them.
struct Figure {
  double value = 0, low = 0, high = 0;
};
/// The median with its spread; zeros for no samples.
Figure figure_of(std::vector<double> samples);
Figure scaled(const Figure& figure, double factor);

struct FigureTable {
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;
};

/// Everything that a calibration found. Paths are "classes/fp32/latency", "memory/l2_latency".
struct Figures {
  std::map<std::string, Figure> values;
  std::map<std::string, FigureTable> tables;
  std::map<std::string, std::string> sass;  ///< benchmark -> the instructions found in its loop
  std::vector<std::string> failures;        ///< what could not be measured, and why

  void set(const std::string& path, const Figure& figure) { values[path] = figure; }
  double value(const std::string& path) const {
    auto found = values.find(path);
    return found == values.end() ? 0 : found->second.value;
  }
};

}  // namespace fathom
