// Resembles a step of smoothed-particle hydrodynamics on a grid of cells: particles meet those of
// the neighbouring cells, first for their densities, then for the forces.
#include <cmath>

#include "team.h"

namespace {

constexpr int kGrid = 16, kInCell = 8, kSteps = 25;
constexpr float kReach = 1.1f;

struct Vector {
  float x, y, z;
};
Vector operator-(Vector a, Vector b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
float square(Vector a) {
  return a.x * a.x + a.y * a.y + a.z * a.z;
}

struct Cell {
  Vector position[kInCell], velocity[kInCell], force[kInCell];
  float density[kInCell];
  int count;
};
std::vector<Cell> cells(kGrid* kGrid* kGrid);

template <class Visit>
void each_neighbour(long cell, Visit visit) {
  const int x = static_cast<int>(cell % kGrid), y = static_cast<int>(cell / kGrid % kGrid),
            z = static_cast<int>(cell / (kGrid * kGrid));
  for (int k = z > 0 ? z - 1 : 0; k <= z + 1 && k < kGrid; ++k)
    for (int j = y > 0 ? y - 1 : 0; j <= y + 1 && j < kGrid; ++j)
      for (int i = x > 0 ? x - 1 : 0; i <= x + 1 && i < kGrid; ++i)
        visit(cells[(k * kGrid + j) * kGrid + i]);
}

void densities(Cell& cell, long index) {
  for (int i = 0; i < cell.count; ++i) cell.density[i] = 0.1f;
  each_neighbour(index, [&](const Cell& other) {
    for (int i = 0; i < cell.count; ++i)
      for (int j = 0; j < other.count; ++j) {
        const float r2 = square(cell.position[i] - other.position[j]);
        if (r2 < kReach * kReach) {
          const float t = kReach * kReach - r2;
          cell.density[i] += t * t * t;
        }
      }
  });
}

void forces(Cell& cell, long index) {
  for (int i = 0; i < cell.count; ++i) cell.force[i] = {0, -1, 0};
  each_neighbour(index, [&](const Cell& other) {
    for (int i = 0; i < cell.count; ++i)
      for (int j = 0; j < other.count; ++j) {
        const Vector apart = cell.position[i] - other.position[j];
        const float r2 = square(apart);
        if (r2 >= kReach * kReach || r2 < 1e-6f) continue;
        const float r = std::sqrt(r2), push = (kReach - r) * (kReach - r) / (r * other.density[j]);
        const Vector drag = other.velocity[j] - cell.velocity[i];
        cell.force[i].x += apart.x * push + 0.1f * drag.x;
        cell.force[i].y += apart.y * push + 0.1f * drag.y;
        cell.force[i].z += apart.z * push + 0.1f * drag.z;
      }
  });
}

void advance(Cell& cell) {
  for (int i = 0; i < cell.count; ++i) {
    Vector& v = cell.velocity[i];
    const Vector& f = cell.force[i];
    v.x += 1e-4f * f.x, v.y += 1e-4f * f.y, v.z += 1e-4f * f.z;
    cell.position[i].x += 1e-3f * v.x;
    cell.position[i].y += 1e-3f * v.y;
    cell.position[i].z += 1e-3f * v.z;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Team team(argc, argv);
  unsigned seed = 1;
  const auto random = [&] {
    return static_cast<float>((seed = seed * 1664525 + 1013904223) >> 8) / (1 << 24);
  };
  const long count = static_cast<long>(cells.size());
  for (long c = 0; c < count; ++c) {
    cells[c].count = 3 + static_cast<int>(random() * 4);
    for (int i = 0; i < cells[c].count; ++i)
      cells[c].position[i] = {c % kGrid + random(), c / kGrid % kGrid + random(),
                              static_cast<float>(c / (kGrid * kGrid)) + random()};
  }
  for (int step = 0; step < kSteps; ++step) {
    team.share(count, [](long from, long to, int) {
      for (long i = from; i < to; ++i) densities(cells[i], i);
    });
    team.share(count, [](long from, long to, int) {
      for (long i = from; i < to; ++i) forces(cells[i], i);
    });
    team.share(count, [](long from, long to, int) {
      for (long i = from; i < to; ++i) advance(cells[i]);
    });
  }
  double sum = 0;
  for (const Cell& cell : cells)
    for (int i = 0; i < cell.count; ++i) sum += cell.position[i].y;
  std::printf("height %.4f\n", sum);
}
