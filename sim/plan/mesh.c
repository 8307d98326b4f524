#include "plan/mesh.h"

#include "base/check.h"

uint32_t mesh_size(const struct mesh *mesh)
{
    return mesh->tp * mesh->dp * mesh->pp;
}

uint32_t mesh_rank(const struct mesh *mesh, const struct mesh_place *place)
{
    sim_assert(place->tp < mesh->tp);
    sim_assert(place->dp < mesh->dp);
    sim_assert(place->pp < mesh->pp);
    return place->tp + mesh->tp * (place->dp + mesh->dp * place->pp);
}

struct mesh_place mesh_place_of(const struct mesh *mesh, uint32_t rank)
{
    sim_assert(rank < mesh_size(mesh));
    return (struct mesh_place){rank % mesh->tp, rank / mesh->tp % mesh->dp,
                               rank / (mesh->tp * mesh->dp)};
}

void mesh_tensor_group(const struct mesh *mesh, uint32_t dp, uint32_t pp, uint32_t *ranks)
{
    for (uint32_t i = 0; i < mesh->tp; i++) {
        ranks[i] = mesh_rank(mesh, &(struct mesh_place){i, dp, pp});
    }
}

void mesh_data_group(const struct mesh *mesh, uint32_t tp, uint32_t pp, uint32_t *ranks)
{
    for (uint32_t i = 0; i < mesh->dp; i++) {
        ranks[i] = mesh_rank(mesh, &(struct mesh_place){tp, i, pp});
    }
}
