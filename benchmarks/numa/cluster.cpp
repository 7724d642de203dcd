// Resembles a local search for k medians of a stream of points: candidates are opened one after the
// other if the sum of distances to the nearest open point shrinks.
#include "team.h"

namespace {

constexpr int kPoints = 4096, kDimensions = 32, kCandidates = 2200;

struct Point {
  float* coordinates;
  float weight;
  long median;
  float cost;
};

float distance(const Point& a, const Point& b, int dimensions) {
  float sum = 0;
  for (int i = 0; i < dimensions; ++i) {
    const float difference = a.coordinates[i] - b.coordinates[i];
    sum += difference * difference;
  }
  return sum;
}

/// What opening `candidate` would save in points [from, to); notes which points would move.
double gain(std::vector<Point>& points, long candidate, long from, long to, int dimensions,
            bool* moves, double* lower) {
  double saved = 0;
  for (long i = from; i < to; ++i) {
    const float cost = distance(points[i], points[candidate], dimensions) * points[i].weight;
    const float change = points[i].cost - cost;
    moves[i] = change > 0;
    if (moves[i])
      saved += change;
    else
      lower[points[i].median & 255] += change;
  }
  return saved;
}

}  // namespace

int main(int argc, char** argv) {
  Team team(argc, argv);
  std::vector<float> block(kPoints * kDimensions);
  unsigned seed = 1;
  for (float& value : block)
    value = static_cast<float>((seed = seed * 1664525 + 1013904223) >> 8) / (1 << 24);
  std::vector<Point> points(kPoints);
  for (long i = 0; i < kPoints; ++i) points[i] = {&block[i * kDimensions], 1.0f + i % 3, 0, 0};
  for (Point& point : points) point.cost = distance(point, points[0], kDimensions) * point.weight;
  const auto moves = new bool[kPoints];
  std::vector<std::vector<double>> lower(team.size(), std::vector<double>(256 + 64));
  volatile int dimensions = kDimensions;  // known at run time only, as it would be
  double total = 0;
  for (int round = 0; round < kCandidates; ++round) {
    const long candidate = (round * 977) % kPoints;
    std::vector<double> saved(team.size() * 8);
    team.share(kPoints, [&](long from, long to, int self) {
      saved[self * 8] = gain(points, candidate, from, to, dimensions, moves, lower[self].data());
    });
    double sum = -20;
    for (int self = 0; self < team.size(); ++self) sum += saved[self * 8];
    if (sum <= 0) continue;
    total += sum;
    team.share(kPoints, [&](long from, long to, int) {
      for (long i = from; i < to; ++i)
        if (moves[i]) {
          points[i].cost = distance(points[i], points[candidate], dimensions) * points[i].weight;
          points[i].median = candidate;
        }
    });
  }
  std::printf("saved %.3f\n", total);
  delete[] moves;
}
