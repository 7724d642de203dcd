// Resembles an explicit hydrodynamics step on an unstructured mesh of hexahedra: elements gather
// the coordinates and velocities of their eight corners through an index list, compute volumes,
// gradients and stresses, and scatter forces into corner arrays, which nodes then gather.
#include <array>
#include <cmath>

#include "team.h"

namespace {

constexpr int kEdge = 22, kSteps = 400;
constexpr long kElements = kEdge * kEdge * kEdge, kNodes = (kEdge + 1) * (kEdge + 1) * (kEdge + 1);
using Corners = std::array<int, 8>;

struct Mesh {
  std::vector<Corners> corners{kElements};
  std::vector<double> x, y, z, vx, vy, vz, fx, fy, fz, mass;         // of nodes
  std::vector<double> volume, pressure, energy, viscosity, density;  // of elements
  std::vector<double> corner_fx, corner_fy, corner_fz;               // of elements' corners
  std::vector<int> node_start, node_corners;
};

int node_at(int i, int j, int k) {
  return (k * (kEdge + 1) + j) * (kEdge + 1) + i;
}

Mesh make_mesh() {
  Mesh m;
  for (auto* field : {&m.x, &m.y, &m.z, &m.vx, &m.vy, &m.vz, &m.fx, &m.fy, &m.fz, &m.mass})
    field->assign(kNodes, 0);
  for (auto* field : {&m.volume, &m.pressure, &m.energy, &m.viscosity, &m.density})
    field->assign(kElements, 1);
  for (auto* field : {&m.corner_fx, &m.corner_fy, &m.corner_fz}) field->assign(kElements * 8, 0);
  std::vector<std::vector<int>> of_node(kNodes);
  long element = 0;
  for (int k = 0; k <= kEdge; ++k)
    for (int j = 0; j <= kEdge; ++j)
      for (int i = 0; i <= kEdge; ++i) {
        const int node = node_at(i, j, k);
        m.x[node] = i + 0.1 * std::sin(j), m.y[node] = j + 0.1 * std::sin(k), m.z[node] = k;
        m.mass[node] = 1;
        if (i == kEdge || j == kEdge || k == kEdge) continue;
        m.corners[element] = {node_at(i, j, k),
                              node_at(i + 1, j, k),
                              node_at(i + 1, j + 1, k),
                              node_at(i, j + 1, k),
                              node_at(i, j, k + 1),
                              node_at(i + 1, j, k + 1),
                              node_at(i + 1, j + 1, k + 1),
                              node_at(i, j + 1, k + 1)};
        for (int c = 0; c < 8; ++c)
          of_node[m.corners[element][c]].push_back(static_cast<int>(element * 8 + c));
        ++element;
      }
  m.energy[0] = 1e3;
  for (const auto& corners : of_node) {
    m.node_start.push_back(static_cast<int>(m.node_corners.size()));
    m.node_corners.insert(m.node_corners.end(), corners.begin(), corners.end());
  }
  m.node_start.push_back(static_cast<int>(m.node_corners.size()));
  return m;
}

double triple(const double* a, const double* b, const double* c) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
         a[2] * (b[0] * c[1] - b[1] * c[0]);
}

void stress(Mesh& m, long element) {
  double x[8], y[8], z[8], divergence = 0;
  for (int c = 0; c < 8; ++c) {
    const int node = m.corners[element][c];
    x[c] = m.x[node], y[c] = m.y[node], z[c] = m.z[node];
    divergence += m.vx[node] * (c & 1 ? 1 : -1) + m.vy[node] * (c & 2 ? 1 : -1) +
                  m.vz[node] * (c & 4 ? 1 : -1);
  }
  const double a[] = {x[6] - x[0], y[6] - y[0], z[6] - z[0]},
               b[] = {x[1] - x[7], y[1] - y[7], z[1] - z[7]},
               d[] = {x[3] - x[5], y[3] - y[5], z[3] - z[5]};
  const double volume = std::fabs(triple(a, b, d)) / 4;
  m.density[element] = 1 / (volume + 1e-6);
  m.viscosity[element] = divergence < 0 ? 0.1 * divergence * divergence : 0;
  m.energy[element] -= 1e-4 * divergence * (m.pressure[element] + m.viscosity[element]);
  m.pressure[element] = 0.4 * m.density[element] * m.energy[element];
  m.volume[element] = volume;
  const double push = m.pressure[element] + m.viscosity[element];
  for (int c = 0; c < 8; ++c) {
    m.corner_fx[element * 8 + c] = push * (c & 1 ? 1 : -1) + 0.01 * (x[c] - x[7 - c]);
    m.corner_fy[element * 8 + c] = push * (c & 2 ? 1 : -1) + 0.01 * (y[c] - y[7 - c]);
    m.corner_fz[element * 8 + c] = push * (c & 4 ? 1 : -1) + 0.01 * (z[c] - z[7 - c]);
  }
}

void move(Mesh& m, long node) {
  double fx = 0, fy = 0, fz = 0;
  for (int i = m.node_start[node]; i < m.node_start[node + 1]; ++i) {
    const int corner = m.node_corners[i];
    fx += m.corner_fx[corner], fy += m.corner_fy[corner], fz += m.corner_fz[corner];
  }
  m.fx[node] = fx, m.fy[node] = fy, m.fz[node] = fz;
  m.vx[node] += 1e-4 * m.fx[node] / m.mass[node];
  m.vy[node] += 1e-4 * m.fy[node] / m.mass[node];
  m.vz[node] += 1e-4 * m.fz[node] / m.mass[node];
  m.x[node] += 1e-3 * m.vx[node], m.y[node] += 1e-3 * m.vy[node], m.z[node] += 1e-3 * m.vz[node];
}

}  // namespace

int main(int argc, char** argv) {
  Team team(argc, argv);
  Mesh mesh = make_mesh();
  for (int step = 0; step < kSteps; ++step) {
    team.share(kElements, [&](long from, long to, int) {
      for (long i = from; i < to; ++i) stress(mesh, i);
    });
    team.share(kNodes, [&](long from, long to, int) {
      for (long i = from; i < to; ++i) move(mesh, i);
    });
  }
  double sum = 0;
  for (double energy : mesh.energy) sum += energy;
  std::printf("energy %.6f\n", sum);
}
