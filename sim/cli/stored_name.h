/* Stored studies as a command line names them: "last", the beginning of a key, a title, or the file
 * that was swept, whose key now follows from it and from --set and --axis.
 */
#ifndef CLI_STORED_NAME_H
#define CLI_STORED_NAME_H

#include "cli/options.h"
#include "study/stored.h"

struct doc_node;

struct stored_name {
    const struct options *options;
    const struct stored_studies *studies;
    const struct text_list *axes; /* --axis; NULL: none */
};

/* NULL with a message. *document is that of a file; else it stays as it is. */
const struct store_study_row *stored_name_find(const struct stored_name *of, const char *name,
                                               const struct doc_node **document);

/* One of the names is that of a file. */
bool stored_name_has_file(const struct options *options);

#endif
