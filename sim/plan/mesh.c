#include "plan/mesh.h"

#include "base/check.h"

uint32_t mesh_plane_size(const struct mesh *mesh)
{
    return mesh->cp * mesh->dp;
}

uint32_t mesh_size(const struct mesh *mesh)
{
    return mesh->tp * mesh_plane_size(mesh) * mesh->pp;
}

uint32_t mesh_plane_of(const struct mesh *mesh, const struct mesh_place *place)
{
    sim_assert(place->cp < mesh->cp);
    sim_assert(place->dp < mesh->dp);
    return place->cp + mesh->cp * place->dp;
}

uint32_t mesh_plane_rank(const struct mesh *mesh, uint32_t tp, uint32_t plane, uint32_t pp)
{
    sim_assert(tp < mesh->tp);
    sim_assert(plane < mesh_plane_size(mesh));
    sim_assert(pp < mesh->pp);
    return tp + mesh->tp * (plane + mesh_plane_size(mesh) * pp);
}

uint32_t mesh_rank(const struct mesh *mesh, const struct mesh_place *place)
{
    return mesh_plane_rank(mesh, place->tp, mesh_plane_of(mesh, place), place->pp);
}

struct mesh_place mesh_place_of(const struct mesh *mesh, uint32_t rank)
{
    sim_assert(rank < mesh_size(mesh));
    const uint32_t plane = rank / mesh->tp % mesh_plane_size(mesh);
    return (struct mesh_place){
        .tp = rank % mesh->tp,
        .cp = plane % mesh->cp,
        .dp = plane / mesh->cp,
        .pp = rank / (mesh->tp * mesh_plane_size(mesh)),
    };
}

void mesh_tensor_group(const struct mesh *mesh, uint32_t cp, uint32_t dp, uint32_t pp,
                       uint32_t *ranks)
{
    for (uint32_t i = 0; i < mesh->tp; i++) {
        ranks[i] = mesh_rank(mesh, &(struct mesh_place){i, cp, dp, pp});
    }
}

void mesh_context_group(const struct mesh *mesh, uint32_t tp, uint32_t dp, uint32_t pp,
                        uint32_t *ranks)
{
    for (uint32_t i = 0; i < mesh->cp; i++) {
        ranks[i] = mesh_rank(mesh, &(struct mesh_place){tp, i, dp, pp});
    }
}

void mesh_expert_group(const struct mesh *mesh, uint32_t tp, uint32_t plane_first, uint32_t pp,
                       uint32_t *ranks)
{
    sim_assert(plane_first % mesh->ep == 0);
    for (uint32_t i = 0; i < mesh->ep; i++) {
        ranks[i] = mesh_plane_rank(mesh, tp, plane_first + i, pp);
    }
}

void mesh_data_group(const struct mesh *mesh, uint32_t tp, uint32_t pp, uint32_t *ranks)
{
    for (uint32_t i = 0; i < mesh_plane_size(mesh); i++) {
        ranks[i] = mesh_plane_rank(mesh, tp, i, pp);
    }
}

void mesh_expert_data_group(const struct mesh *mesh, uint32_t tp, uint32_t expert_index,
                            uint32_t pp, uint32_t *ranks)
{
    sim_assert(expert_index < mesh->ep);
    sim_assert(mesh_plane_size(mesh) % mesh->ep == 0);
    for (uint32_t i = 0; i < mesh_plane_size(mesh) / mesh->ep; i++) {
        ranks[i] = mesh_plane_rank(mesh, tp, expert_index + i * mesh->ep, pp);
    }
}
