/* The pairs of items that are similar enough to be paired, with their similarity.

   Upper bounds of similarity, from the letters of texts, leave out most pairs before an edit
   distance is computed.

   Invariants: a bound is never below the similarity, so that bounds change the time and never the
   result; sums of similarities are added in the order of Python, bit for bit.

   Specified by `edges_of_few` in align/item_similarity.py. */

#include "kernel.h"

/* The edit distance of a pattern of at most 64 letters to a text (Myers, Hyyrö), or a number above
   `most` if it is larger than that. */
static uint32_t
pattern_distance(const uint64_t *places, uint32_t length, const Byte *text, uint32_t text_length,
                 uint32_t most)
{
    uint64_t plus = ~(uint64_t)0 << (WORD - length), minus = 0;
    uint32_t distance = length;
    for (uint32_t i = 0; i < text_length; i++) {
        uint64_t equal = places[text[i]], vertical = equal | minus;
        uint64_t horizontal = (((equal & plus) + plus) ^ plus) | equal;
        uint64_t up = minus | ~(horizontal | plus), down = plus & horizontal;
        distance += (uint32_t)(up >> (WORD - 1));
        distance -= (uint32_t)(down >> (WORD - 1));
        if (distance > most + (text_length - 1 - i)) {
            return most + 1; /* each further letter lowers it by at most 1 */
        }
        up = (up << 1) | 1;
        down <<= 1;
        plus = down | ~(vertical | up);
        minus = up & vertical;
    }
    return distance;
}

/* Prepare the pattern of a leaf that has at most 64 letters. */
static void
set_pattern(Pattern *pattern, const Leaf *leaf)
{
    if (pattern->leaf == leaf) {
        return;
    }
    if (pattern->leaf == NULL) {
        memset(pattern->places, 0, sizeof pattern->places);
    }
    for (uint32_t i = 0; pattern->leaf != NULL && i < pattern->leaf->length; i++) {
        pattern->places[pattern->leaf->text[i]] = 0;
    }
    pattern->leaf = leaf;
    for (uint32_t i = 0; i < leaf->length; i++) {
        pattern->places[leaf->text[i]] |= (uint64_t)1 << (WORD - leaf->length + i);
    }
}

/* `text_similarity` of two different strings, or with a rule `levenshtein_similarity`. It is less
   than `least` if that is certain, and below -1 for an error. */
static double
text_similarity(const Search *search, const Leaf *left, const Leaf *right, Pattern *pattern,
                double least)
{
    const Leaf *shorter = left->length <= right->length ? left : right;
    const Leaf *longer = shorter == left ? right : left;
    PyObject *left_text, *right_text, *result = NULL;
    double similarity = -2.0;
    if (!(search->by_rules && search->paths[left->path].rule != NULL) && is_iso_date(left)
        && is_iso_date(right)) {
        return 0.0;
    }
    if (shorter->length == 0) {
        return 0.0;
    }
    if (shorter->length <= WORD) {
        double limit = (1.0 - least) * (double)longer->length + 1.0; /* rounded up */
        uint32_t most = limit < 0.0                      ? 0
                        : limit < (double)longer->length ? (uint32_t)limit
                                                         : longer->length;
        uint32_t distance;
        if (left->length <= WORD) {
            shorter = left;
        }
        set_pattern(pattern, shorter);
        right = shorter == left ? right : left;
        distance =
            pattern_distance(pattern->places, shorter->length, right->text, right->length, most);
        return 1.0 - (double)distance / (double)longer->length;
    }
    left_text = leaf_value(search, left);
    right_text = left_text == NULL ? NULL : leaf_value(search, right);
    if (right_text != NULL) {
        result = PyObject_CallFunctionObjArgs(search->pair->walker->similarity, left_text,
                                              right_text, NULL);
    }
    if (result != NULL) {
        similarity = PyFloat_AsDouble(result);
        similarity = similarity == -1.0 && PyErr_Occurred() ? -2.0 : similarity;
    }
    Py_XDECREF(left_text);
    Py_XDECREF(right_text);
    Py_XDECREF(result);
    return similarity;
}

/* Whether two leaves at the same path are equal; numbers of both types may be. */
static int
is_equal_leaf(const Leaf *left, const Leaf *right)
{
    int left_type = left->token->type, right_type = right->token->type;
    if (left->hash != right->hash) {
        return 0;
    }
    if (left_type == IS_TEXT || right_type == IS_TEXT) {
        return left_type == right_type && left->length == right->length
               && memcmp(left->text, right->text, left->length) == 0;
    }
    if (left_type < IS_WHOLE || right_type < IS_WHOLE) {
        return left_type == right_type;
    }
    return left->number == right->number;
}

/* The leaf of an item at a path, or NULL; `guess` is its probable place. */
static const Leaf *
leaf_at(const Item *item, uint32_t path, uint32_t guess)
{
    if (guess < item->number && item->leaves[guess].path == path) {
        return &item->leaves[guess];
    }
    for (uint32_t i = 0; i < item->number; i++) {
        if (item->leaves[i].path == path) {
            return &item->leaves[i];
        }
    }
    return NULL;
}

#define MOST_LETTERS 255

/* Count the letters of a text in each class. A text without letters has one as well, so that two
   such texts have all in common. */
static void
count_letters(const Leaf *leaf, uint32_t *letters)
{
    memset(letters, 0, CLASSES * sizeof *letters);
    letters[0] = leaf->length == 0;
    for (uint32_t i = 0; i < leaf->length; i++) {
        letters[leaf->text[i] & (CLASSES - 1)]++;
    }
}

/* The share of one letter in a text. */
static float
letter_share(const Leaf *leaf)
{
    return leaf->length > 0 ? 1.0F / (float)leaf->length : 1.0F;
}

/* The smaller one of two numbers, without a branch, so that compilers use vectors. */
static inline Byte
smaller(Byte left, Byte right)
{
    return left < right ? left : right;
}

/* Count the letters that a text of at most MOST_LETTERS has in common with those of the candidate
   items, four classes at a time. */
static void
count_common(const Column *column, const uint32_t *letters, uint32_t candidate_number, Byte *common)
{
    const Byte *rows[CLASSES + 3];
    Byte most[CLASSES + 3] = {0};
    uint32_t number = 0;
    for (size_t k = 0; k < CLASSES; k++) {
        if (letters[k] > 0) {
            rows[number] = column->letters + k * candidate_number;
            most[number++] = (Byte)letters[k];
        }
    }
    for (uint32_t k = number; k < number + 3; k++) {
        rows[k] = column->letters; /* of which no letters count */
    }
    memset(common, 0, candidate_number);
    for (uint32_t k = 0; k < number; k += 4) {
        const Byte *first = rows[k], *second = rows[k + 1], *third = rows[k + 2];
        const Byte *fourth = rows[k + 3];
        Byte one = most[k], two = most[k + 1], three = most[k + 2], four = most[k + 3];
        for (uint32_t j = 0; j < candidate_number; j++) {
            common[j] = (Byte)(common[j] + smaller(first[j], one) + smaller(second[j], two)
                               + smaller(third[j], three) + smaller(fourth[j], four));
        }
    }
}

/* The largest possible number of letters that a longer text has in common with that of a candidate
   item, some of whose letters may occur more often than they are counted. */
static uint32_t
most_common(const Column *column, const uint32_t *letters, uint32_t candidate_number,
            uint32_t candidate_index)
{
    uint32_t common = 0;
    for (size_t k = 0; k < CLASSES; k++) {
        uint32_t times = column->letters[k * candidate_number + candidate_index];
        common += times < MOST_LETTERS && times < letters[k] ? times : letters[k];
    }
    return common;
}

/* Add the similarities of a path for the candidate items that lack it. */
static void
add_missing(const Column *column, uint32_t candidate_number, float *bounds)
{
    for (uint32_t j = 0; column->missing != NULL && j < candidate_number; j++) {
        bounds[j] += column->missing[j];
    }
}

/* Set the upper bounds of the similarity of a text with those of the candidate items, which is at
   most the number of letters in common, divided by the length of the longer text. The loops over
   candidate items are such that compilers use vectors. */
static void
set_bounds(const Search *search, const Column *column, const Leaf *leaf, uint32_t candidate_number,
           float *bounds)
{
    const float *shares = column->shares;
    float share = letter_share(leaf);
    uint32_t letters[CLASSES];
    count_letters(leaf, letters);
    if (leaf->length > MOST_LETTERS) {
        for (uint32_t j = 0; j < candidate_number; j++) {
            bounds[j] = (float)most_common(column, letters, candidate_number, j)
                        * (shares[j] < share ? shares[j] : share);
        }
        add_missing(column, candidate_number, bounds);
        return;
    }
    count_common(column, letters, candidate_number, search->common);
    for (uint32_t j = 0; j < candidate_number; j++) {
        bounds[j] = (float)search->common[j] * (shares[j] < share ? shares[j] : share);
    }
    add_missing(column, candidate_number, bounds);
}

/* Number the different texts of the items of one side at each path. */
static int
number_texts(Search *search, Item *items, uint32_t number, int is_candidate)
{
    size_t texts = 0, size = 16;
    const Leaf **table;
    for (uint32_t i = 0; i < number; i++) {
        texts += items[i].graded_number;
    }
    while (size < 2 * texts) {
        size *= 2;
    }
    table = TAKE(search, const Leaf *, size);
    if (table == NULL) {
        return FAILED;
    }
    memset(table, 0, size * sizeof *table);
    for (uint32_t i = 0; i < number; i++) {
        for (uint32_t k = 0; k < items[i].graded_number; k++) {
            Leaf *leaf = &items[i].leaves[items[i].graded[k]];
            Column *column = &search->columns[leaf->path];
            size_t at = (size_t)mixed(leaf->hash, leaf->path) & (size - 1);
            if (leaf->token->type != IS_TEXT) {
                continue;
            }
            while (table[at] != NULL
                   && !(table[at]->path == leaf->path && is_equal_leaf(table[at], leaf))) {
                at = (at + 1) & (size - 1);
            }
            if (table[at] != NULL) {
                leaf->text_number = table[at]->text_number;
                continue;
            }
            leaf->text_number = is_candidate ? column->number++ : column->expected_number++;
            column->characters += leaf->length;
            table[at] = leaf;
        }
    }
    return DONE;
}

/* Prepare a column of texts that both sides have. If texts repeat, what is known about their
   similarity is kept; `budget` is the number of bounds for which there is room. */
static int
make_column(Search *search, Column *column, uint32_t expected_number, uint32_t candidate_number,
            size_t *budget)
{
    size_t bounds = (size_t)column->expected_number * candidate_number;
    size_t pairs = (size_t)column->expected_number * column->number;
    column->partners = TAKE(search, const Leaf *, candidate_number);
    column->letters = TAKE(search, Byte, CLASSES * (size_t)candidate_number);
    column->shares = TAKE(search, float, candidate_number);
    if (2 * pairs <= (size_t)expected_number * candidate_number && bounds <= *budget) {
        *budget -= bounds;
        column->distances = TAKE(search, uint16_t, pairs);
        column->has_bounds = TAKE(search, uint8_t, column->expected_number);
        if (column->distances == NULL || column->has_bounds == NULL) {
            return FAILED;
        }
        memset(column->distances, 0, pairs * sizeof *column->distances);
        memset(column->has_bounds, 0, column->expected_number);
    } else {
        bounds = candidate_number;
    }
    column->bounds = TAKE(search, float, bounds);
    if (column->partners == NULL || column->letters == NULL || column->shares == NULL
        || column->bounds == NULL) {
        return FAILED;
    }
    memset(column->letters, 0, CLASSES * (size_t)candidate_number);
    for (uint32_t j = 0; j < candidate_number; j++) {
        column->partners[j] = NULL;
        column->shares[j] = 0.0F;
    }
    return DONE;
}

/* Prepare the similarities of a column for the candidate items that lack its path. */
static int
make_missing(Search *search, uint32_t path, const Item *candidates, uint32_t candidate_number)
{
    Column *column = &search->columns[path];
    if (search->missing == 0.0F || (search->everywhere >> path & 1)) {
        return DONE;
    }
    column->missing = TAKE(search, float, candidate_number);
    if (column->missing == NULL) {
        return FAILED;
    }
    for (uint32_t j = 0; j < candidate_number; j++) {
        column->missing[j] = candidates[j].paths >> path & 1 ? 0.0F : search->missing;
    }
    return DONE;
}

/* Prepare the texts of all paths, and list the paths in `order`. */
static int
make_columns(Search *search, uint32_t expected_number, uint32_t candidate_number)
{
    Item *candidates = &search->items[expected_number];
    size_t budget = MOST_BOUNDS;
    search->columns = TAKE(search, Column, search->path_number);
    search->order = TAKE(search, uint32_t, search->path_number);
    search->common = TAKE(search, Byte, candidate_number);
    search->order_number = 0;
    if (search->columns == NULL || search->order == NULL || search->common == NULL) {
        return FAILED;
    }
    memset(search->columns, 0, search->path_number * sizeof *search->columns);
    if (number_texts(search, search->items, expected_number, 0) != DONE
        || number_texts(search, candidates, candidate_number, 1) != DONE) {
        return FAILED;
    }
    for (uint32_t path = 0; path < search->path_number; path++) {
        Column *column = &search->columns[path];
        uint32_t at = search->order_number;
        if (column->number == 0 || column->expected_number == 0) {
            continue;
        }
        if (make_column(search, column, expected_number, candidate_number, &budget) != DONE
            || make_missing(search, path, candidates, candidate_number) != DONE) {
            return FAILED;
        }
        column->characters /= column->number + column->expected_number;
        for (; at > 0 && search->columns[search->order[at - 1]].characters > column->characters;
             at--) {
            search->order[at] = search->order[at - 1];
        }
        search->order[at] = path;
        search->order_number++;
    }
    for (uint32_t j = 0; j < candidate_number; j++) {
        for (uint32_t k = 0; k < candidates[j].graded_number; k++) {
            const Leaf *leaf = &candidates[j].leaves[candidates[j].graded[k]];
            const Column *column = &search->columns[leaf->path];
            if (leaf->token->type == IS_TEXT && column->partners != NULL) {
                uint32_t letters[CLASSES];
                column->partners[j] = leaf;
                column->shares[j] = letter_share(leaf);
                count_letters(leaf, letters);
                for (size_t i = 0; i < CLASSES; i++) {
                    column->letters[i * candidate_number + j] =
                        (Byte)(letters[i] < MOST_LETTERS ? letters[i] : MOST_LETTERS);
                }
            }
        }
    }
    return DONE;
}

/* The upper bounds of the similarity of a text with those of the candidate items. */
static float *
bounds_of(const Search *search, const Column *column, const Leaf *leaf, uint32_t candidate_number)
{
    float *row = column->bounds;
    if (column->has_bounds != NULL) {
        row += (size_t)leaf->text_number * candidate_number;
        if (column->has_bounds[leaf->text_number]) {
            return row;
        }
        column->has_bounds[leaf->text_number] = 1;
    }
    set_bounds(search, column, leaf, candidate_number, row);
    return row;
}

/* Enter the candidate leaves that are not graded in an index by their values. */
static int
index_leaves(Search *search, const Item *candidates, uint32_t candidate_number)
{
    size_t leaves, size = 16;
    const Leaf *begin = candidates[0].leaves;
    leaves = (size_t)(candidates[candidate_number - 1].leaves
                      + candidates[candidate_number - 1].number - begin);
    while (size < leaves) {
        size *= 2;
    }
    search->first = TAKE(search, const Leaf *, size);
    search->next = TAKE(search, const Leaf *, leaves);
    if (search->first == NULL || search->next == NULL) {
        return FAILED;
    }
    search->mask = size - 1;
    search->is_indexed = 0;
    memset(search->first, 0, size * sizeof *search->first);
    for (uint32_t j = 0; j < candidate_number; j++) {
        for (uint32_t k = 0; k < candidates[j].number; k++) {
            const Leaf *leaf = &candidates[j].leaves[k], **first;
            if (!is_graded(search, leaf)) {
                search->is_indexed = 1;
                first = &search->first[mixed(leaf->hash, leaf->path) & search->mask];
                search->next[leaf - begin] = *first;
                *first = leaf;
            }
        }
    }
    return DONE;
}

/* The similarity of the text at hand and that of a candidate item as by `text_similarity`; known
   ones are remembered. */
static double
known_similarity(const Search *search, const Column *column, uint32_t candidate_index,
                 Pattern *pattern, double least)
{
    const Leaf *leaf = column->own, *partner = column->partners[candidate_index];
    double longer = leaf->length > partner->length ? leaf->length : partner->length, similarity;
    float *bound = column->own_bounds + candidate_index;
    uint16_t *known = column->distances;
    if (known != NULL) {
        known += (size_t)leaf->text_number * column->number + partner->text_number;
        if (*known > 0) {
            similarity = 1.0 - (double)(*known - 1) / longer;
            *bound = (float)similarity;
            return similarity;
        }
    }
    similarity =
        is_equal_leaf(leaf, partner) ? 1.0 : text_similarity(search, leaf, partner, pattern, least);
    if (similarity < -1.0) {
        return similarity;
    }
    if (known != NULL && similarity >= least) {
        *known = (uint16_t)((1.0 - similarity) * longer + 1.5);
    }
    *bound = (float)similarity;
    return similarity;
}

#define ROUNDING 1e-5 /* more than that of a float bound, for each leaf */

/* Of how many leaves the mean similarity must be at least the minimum. Of the match fields, those
   of the expected item: where the candidate item lacks one, the bounds have the minimum. */
static int
decisive_leaves(const Search *search, const Item *expected, const Item *candidate)
{
    return search->node->one_sided < 0.0 ? bit_count(expected->paths | candidate->paths)
                                         : (int)expected->number;
}

/* `_weight`: the mean similarity over the leaves of both items; -1 for items that cannot reach the
 * minimum similarity. */
static int
find_weight(const Search *search, const Item *expected, const Item *candidate,
            uint32_t candidate_index, double min_similarity, double *weight)
{
    int leaves = bit_count(expected->paths | candidate->paths);
    double total = 0.0, one_sided = 0.0, spare;
    double similar[MOST_PATHS];
    if (search->node->one_sided >= 0.0) {
        int missing = bit_count(expected->paths ^ candidate->paths);
        one_sided = missing * search->node->one_sided;
        if (2 * missing > leaves) {
            *weight = 0.0;
            return DONE;
        }
    }
    spare = (double)search->settled[candidate_index]
            - (min_similarity - ROUNDING) * decisive_leaves(search, expected, candidate);
    *weight = -1.0;
    for (uint32_t i = 0; i < search->order_number; i++) {
        const Column *column = &search->columns[search->order[i]];
        if (column->own != NULL) {
            spare += (double)column->own_bounds[candidate_index];
        }
    }
    for (uint32_t i = 0; spare >= 0.0 && i < search->order_number; i++) {
        uint32_t path = search->order[i];
        const Column *column = &search->columns[path];
        Pattern *pattern = &search->patterns[i < MOST_PATTERNS ? i : MOST_PATTERNS - 1];
        double bound;
        if (column->own == NULL || column->partners[candidate_index] == NULL) {
            continue;
        }
        bound = (double)column->own_bounds[candidate_index];
        similar[path] = known_similarity(search, column, candidate_index, pattern, bound - spare);
        if (similar[path] < -1.0) {
            return FAILED;
        }
        spare -= bound - similar[path];
    }
    for (uint32_t i = 0; spare >= 0.0 && i < expected->graded_number; i++) {
        const Leaf *leaf = &expected->leaves[expected->graded[i]];
        const Column *column = &search->columns[leaf->path];
        if (leaf->token->type != IS_TEXT) {
            const Leaf *partner = leaf_at(candidate, leaf->path, expected->graded[i]);
            int within = partner == NULL ? 0 : is_within_tolerance(search, leaf, partner);
            if (within < 0) {
                return FAILED;
            }
            total += within;
        } else if (column->partners != NULL && column->partners[candidate_index] != NULL) {
            total += similar[leaf->path];
        }
    }
    if (spare >= 0.0) {
        total += (double)search->equal[candidate_index];
        *weight =
            (total + one_sided) / (leaves > 0 ? leaves : 1) * WEIGHT_UNIT + TO_WHOLE - TO_WHOLE;
    }
    return DONE;
}

/* Add an edge between two items. */
static int
add_edge(Search *search, double weight, uint32_t expected_index, uint32_t candidate_index)
{
    Edge edge = {weight, expected_index, candidate_index};
    if (search->edge_number == search->edge_capacity) {
        size_t capacity = search->edge_capacity ? 2 * search->edge_capacity : 16;
        Edge *edges = PyMem_Realloc(search->edges, capacity * sizeof *edges);
        if (edges == NULL) {
            PyErr_NoMemory();
            return FAILED;
        }
        search->edges = edges;
        search->edge_capacity = capacity;
    }
    search->edges[search->edge_number++] = edge;
    return DONE;
}

/* Compare two numbers for sorting. */
int
by_number(const void *left, const void *right)
{
    uint32_t left_number = *(const uint32_t *)left, right_number = *(const uint32_t *)right;
    return (left_number > right_number) - (left_number < right_number);
}

/* Count the equal leaves of an item with the candidate items, and list those that have any. */
static void
count_equal(Search *search, const Item *item, const Leaf *begin)
{
    for (uint32_t k = 0; k < item->number; k++) {
        const Leaf *leaf = &item->leaves[k], *other;
        if (is_graded(search, leaf)) {
            continue;
        }
        other = search->first[mixed(leaf->hash, leaf->path) & search->mask];
        for (; other != NULL; other = search->next[other - begin]) {
            if (other->path == leaf->path && is_equal_leaf(leaf, other)) {
                if (search->equal[other->owner] == 0.0F) {
                    search->near[search->near_number++] = other->owner;
                }
                search->equal[other->owner] += 1.0F;
            }
        }
    }
}

/* Add what is settled besides equal leaves: match fields that the candidate items lack, unless they
   are in a column, and the leaves that a rule with a tolerance matches. */
static int
settle(Search *search, const Item *item, const Item *candidates, uint32_t candidate_number)
{
    uint64_t others = item->paths & ~search->everywhere;
    memcpy(search->settled, search->equal, candidate_number * sizeof *search->settled);
    for (uint32_t k = 0; k < search->order_number; k++) {
        if (search->columns[search->order[k]].own != NULL) {
            others &= ~((uint64_t)1 << search->order[k]);
        }
    }
    for (uint32_t j = 0; others != 0 && j < candidate_number; j++) {
        search->settled[j] += search->missing * (float)bit_count(others & ~candidates[j].paths);
    }
    if (!search->by_rules) {
        return DONE;
    }
    for (uint32_t k = 0; k < item->graded_number; k++) {
        uint32_t guess = item->graded[k];
        const Leaf *leaf = &item->leaves[guess];
        for (uint32_t j = 0; leaf->token->type != IS_TEXT && j < candidate_number; j++) {
            const Leaf *partner = leaf_at(&candidates[j], leaf->path, guess);
            int within = partner == NULL ? 0 : is_within_tolerance(search, leaf, partner);
            if (within < 0) {
                return FAILED;
            }
            search->settled[j] += (float)within;
        }
    }
    return DONE;
}

/* Set the texts of the expected item at hand; return the last column that has one, or NULL. */
static const Column *
set_own_texts(Search *search, const Item *item, uint32_t candidate_number)
{
    const Column *last = NULL;
    for (uint32_t i = 0; i < search->order_number; i++) {
        search->columns[search->order[i]].own = NULL;
    }
    for (uint32_t k = 0; k < item->graded_number; k++) {
        const Leaf *leaf = &item->leaves[item->graded[k]];
        Column *column = &search->columns[leaf->path];
        if (leaf->token->type == IS_TEXT && column->partners != NULL) {
            column->own = leaf;
            column->own_bounds = bounds_of(search, column, leaf, candidate_number);
            last = column;
        }
    }
    return last;
}

/* Keep the candidate items in `near` that can reach the minimum similarity together with
 * an item. */
static void
keep_near(Search *search, const Item *item, const Item *candidates, double min_similarity)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < search->near_number; i++) {
        uint32_t candidate_index = search->near[i];
        int leaves = decisive_leaves(search, item, &candidates[candidate_index]);
        double most = (double)search->settled[candidate_index];
        for (uint32_t k = 0; k < search->order_number; k++) {
            const Column *column = &search->columns[search->order[k]];
            if (column->own != NULL) {
                most += (double)column->own_bounds[candidate_index];
            }
        }
        if (most >= (min_similarity - ROUNDING) * leaves) {
            search->near[kept++] = candidate_index;
        }
    }
    search->near_number = kept;
}

/* List all candidate items whose texts are similar enough for the leaves of an item alone, which
   excludes most of them; `last` is the last column with one of its texts. */
static void
list_near(Search *search, const Item *item, uint32_t candidate_number, const Column *last,
          double min_similarity)
{
    float least = (float)((min_similarity - ROUNDING) * item->number);
    const float *settled = search->settled, *row = last->own_bounds;
    uint32_t *near = search->near, kept = 0;
    Byte *is_near = search->is_near;
    uint64_t some;
    for (uint32_t k = 0; k < search->order_number; k++) {
        const Column *column = &search->columns[search->order[k]];
        if (column->own != NULL && column != last) {
            const float *bounds = column->own_bounds;
            float *most = search->upper_bounds;
            for (uint32_t j = 0; j < candidate_number; j++) {
                most[j] = settled[j] + bounds[j];
            }
            settled = most;
        }
    }
    for (uint32_t j = 0; j < candidate_number; j++) {
        is_near[j] = settled[j] + row[j] >= least;
    }
    for (uint32_t j = 0; j < candidate_number; j += sizeof some) {
        memcpy(&some, is_near + j, sizeof some);
        for (uint32_t k = j; some != 0 && k < j + sizeof some; k++) {
            near[kept] = k;
            kept += is_near[k];
        }
    }
    search->near_number = kept;
}

/* List the candidate items that can reach the minimum similarity together with an item (`_near`).
   Those without an equal leaf are included if graded leaves can be enough. */
static int
find_near(Search *search, const Item *item, const Item *candidates, uint32_t candidate_number,
          double min_similarity)
{
    int is_alone;
    const Column *last = set_own_texts(search, item, candidate_number);
    search->near_number = 0;
    memset(search->equal, 0, search->is_indexed ? candidate_number * sizeof *search->equal : 0);
    count_equal(search, item, candidates[0].leaves);
    if (search->settled != search->equal
        && settle(search, item, candidates, candidate_number) != DONE) {
        return FAILED;
    }
    if (search->node->one_sided < 0.0) {
        double size = item->number > search->smallest ? item->number : search->smallest;
        is_alone = (double)item->graded_number >= min_similarity * size;
    } else {
        is_alone = (item->paths & ~search->everywhere) != 0
                   || (double)item->graded_number >= min_similarity * item->number;
    }
    if (!is_alone) {
        qsort(search->near, search->near_number, sizeof *search->near, by_number);
    } else if (last != NULL) {
        list_near(search, item, candidate_number, last, min_similarity);
    } else {
        for (uint32_t j = 0; j < candidate_number; j++) {
            search->near[j] = j;
        }
        search->near_number = candidate_number;
    }
    keep_near(search, item, candidates, min_similarity);
    return DONE;
}

/* Make room for what is known about the expected item at hand. */
static int
make_bounds(Search *search, uint32_t expected_number, uint32_t candidate_number,
            double min_similarity)
{
    int by_fields = search->node->one_sided >= 0.0;
    search->upper_bounds = TAKE(search, float, candidate_number);
    search->equal = TAKE(search, float, candidate_number);
    search->settled =
        search->by_rules || by_fields ? TAKE(search, float, candidate_number) : search->equal;
    search->missing = by_fields && min_similarity > 0.0 ? (float)min_similarity : 0.0F;
    search->is_near = TAKE(search, Byte, (size_t)candidate_number + 7);
    search->near = TAKE(search, uint32_t, (size_t)candidate_number + 1);
    search->patterns = TAKE(search, Pattern, MOST_PATTERNS);
    if (search->upper_bounds == NULL || search->equal == NULL || search->settled == NULL
        || search->is_near == NULL || search->near == NULL || search->patterns == NULL) {
        return FAILED;
    }
    memset(search->is_near + candidate_number, 0, 7);
    memset(search->equal, 0, candidate_number * sizeof *search->equal);
    for (int i = 0; i < MOST_PATTERNS; i++) {
        search->patterns[i].leaf = NULL;
    }
    search->smallest = UINT32_MAX;
    search->everywhere = UINT64_MAX;
    for (uint32_t i = 0; i < expected_number + candidate_number; i++) {
        Item *item = &search->items[i];
        item->paths = 0;
        for (uint32_t k = 0; k < item->number; k++) {
            item->paths |= (uint64_t)1 << item->leaves[k].path;
        }
        if (i >= expected_number) {
            search->everywhere &= item->paths;
            search->smallest = item->number < search->smallest ? item->number : search->smallest;
        }
    }
    return DONE;
}

/* `edges_of_few`: every pair with at least the minimum weight. */
int
find_edges(Search *search)
{
    uint32_t expected_number = search->alignment->expected.rest_number;
    uint32_t candidate_number = search->alignment->candidate.rest_number;
    const Item *candidates = &search->items[expected_number];
    double min_weight = search->node->min_weight,
           min_similarity = min_weight / WEIGHT_UNIT - MARGIN;
    if (make_bounds(search, expected_number, candidate_number, min_similarity) != DONE
        || make_columns(search, expected_number, candidate_number) != DONE
        || index_leaves(search, candidates, candidate_number) != DONE) {
        return FAILED;
    }
    for (uint32_t i = 0; i < expected_number; i++) {
        const Item *item = &search->items[i];
        if (find_near(search, item, candidates, candidate_number, min_similarity) != DONE) {
            return FAILED;
        }
        for (uint32_t k = 0; k < search->near_number; k++) {
            uint32_t j = search->near[k];
            double weight;
            if (find_weight(search, item, &candidates[j], j, min_similarity, &weight) != DONE
                || (weight >= min_weight && weight >= 0.0
                    && add_edge(search, weight, i, j) != DONE)) {
                return FAILED;
            }
        }
    }
    return DONE;
}
