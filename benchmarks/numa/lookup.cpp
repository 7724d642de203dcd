// Resembles look-ups of cross sections: a random energy is found in a sorted grid by halving, and
// then, for each nuclide of a material, two neighbouring rows of its table are interpolated.
#include "team.h"

namespace {

constexpr int kNuclides = 60, kRows = 5000, kMaterials = 8;
constexpr long kGrid = 1L * kNuclides * kRows, kLookups = 400000;

struct Row {
  double energy, total, elastic, absorbed, fission, nu;
};
std::vector<Row> tables(kNuclides* kRows);
std::vector<double> grid(kGrid);
std::vector<int> indices(kGrid* kNuclides);
int sizes[kMaterials];
int nuclides[kMaterials][kNuclides];

double random(unsigned long& seed) {
  seed = seed * 2806196910506780709ul + 1;
  return static_cast<double>(seed >> 11) / 9007199254740992.0;
}

void prepare() {
  for (int n = 0; n < kNuclides; ++n)
    for (int r = 0; r < kRows; ++r) {
      const double energy = (r + 0.5 + 0.01 * n) / kRows;
      tables[n * kRows + r] = {energy, energy * 2, 1 / (energy + 1), energy * n, r * 1e-3, 2.4};
    }
  for (long i = 0; i < kGrid; ++i) {
    grid[i] = static_cast<double>(i) / kGrid;
    for (int n = 0; n < kNuclides; ++n)
      indices[i * kNuclides + n] =
          static_cast<int>(i / kNuclides < kRows - 1 ? i / kNuclides : kRows - 2);
  }
  unsigned long seed = 7;
  for (int m = 0; m < kMaterials; ++m) {
    sizes[m] = 4 + m * 4;
    for (int i = 0; i < sizes[m]; ++i) nuclides[m][i] = static_cast<int>(random(seed) * kNuclides);
  }
}

long find(double energy) {
  long low = 0, high = kGrid - 1;
  while (high - low > 1) {
    const long middle = low + (high - low) / 2;
    if (grid[middle] > energy)
      high = middle;
    else
      low = middle;
  }
  return low;
}

void look_up(double energy, int material, double* sums) {
  const long at = find(energy);
  for (int i = 0; i < sizes[material]; ++i) {
    const int nuclide = nuclides[material][i];
    const Row* low = &tables[nuclide * kRows + indices[at * kNuclides + nuclide]];
    const Row* high = low + 1;
    const double f = (high->energy - energy) / (high->energy - low->energy);
    sums[0] += high->total - f * (high->total - low->total);
    sums[1] += high->elastic - f * (high->elastic - low->elastic);
    sums[2] += high->absorbed - f * (high->absorbed - low->absorbed);
    sums[3] += high->fission - f * (high->fission - low->fission);
    sums[4] += high->nu - f * (high->nu - low->nu);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Team team(argc, argv);
  prepare();
  std::vector<double> sums(team.size() * 16);
  team.share(kLookups, [&](long from, long to, int self) {
    for (long i = from; i < to; ++i) {
      unsigned long seed = static_cast<unsigned long>(i) * 2 + 1;
      const double energy = random(seed);
      double found[5] = {};
      look_up(energy, static_cast<int>(random(seed) * kMaterials), found);
      for (double value : found) sums[self * 16] += value;
    }
  });
  double sum = 0;
  for (int self = 0; self < team.size(); ++self) sum += sums[self * 16];
  std::printf("sum %.6e\n", sum);
}
