/* The inside of `stoker calibrate`: what its parts share. */
#ifndef CLI_CALIBRATE_H
#define CLI_CALIBRATE_H

#include "cli/options.h"
#include "input/cluster.h"
#include "measured/calibrate.h"

struct calibrator {
    struct options options;
    const char *cluster; /* of measurements that name none; NULL */
    const char *base;    /* the library that is calibrated */
    const char *name;    /* of the one that is written */
    const char *output;  /* file; NULL: stdout */
    const char *plot;    /* base of the pictures' paths; NULL: none */
    uint32_t size;       /* of them: of plot_size_names */
    bool only_checks;
    bool wants_script;
    struct catalogue catalogue;
    struct library *library;
    const struct library *before; /* what it was fitted from; NULL: nothing was fitted */
    struct measurement_list list;
    struct curve *curves;
};

/* stoker calibrate gemm FILE, with the catalogue open. Returns the exit status. */
int calibrate_gemm(struct calibrator *calibrator);
/* stoker calibrate attention FILE, likewise. */
int calibrate_attention(struct calibrator *calibrator);
/* stoker calibrate memory FILE.csv, likewise. */
int calibrate_memory(struct calibrator *calibrator);
/* stoker calibrate box FILE|--script, likewise. */
int calibrate_box(struct calibrator *calibrator);

#endif
