/* Counting: the cells of cases to counts of the same cell, and to sums by attribute.

   Invariants: a cell has the bits that model/outcome.py gives it; sums are exact integers, and the
   same in any order of the cells.

   Specified by `count_cells` and `_sum_cells` in metrics/case_score.py. */

#include "kernel.h"

#define FACTS (1 << CELL_BITS)
#define FACT_MASK (FACTS - 1)

typedef struct {
    long long cell;
    Py_ssize_t times;
    Py_ssize_t first; /* where it occurs first */
} Counted;

/* The different cells of a list in order, and a table of their places, from 1. */
typedef struct {
    Counted *counted;
    uint32_t *table;
    size_t number, size; /* of the table; at most half of it is used */
} Counter;

#define FIRST_COUNTED 128 /* there are few different cells, however many there are */

/* The place for a cell in the table of a counter. */
static uint32_t *
place_of_cell(const Counter *counter, long long cell)
{
    size_t slot = (size_t)mixed(6, (uint64_t)cell) & (counter->size - 1);
    while (counter->table[slot] != 0 && counter->counted[counter->table[slot] - 1].cell != cell) {
        slot = (slot + 1) & (counter->size - 1);
    }
    return &counter->table[slot];
}

/* Double the size of a counter, and enter its cells in the new table. */
static int
grow_counter(Counter *counter)
{
    size_t size = counter->size > 0 ? 2 * counter->size : 2 * FIRST_COUNTED;
    Counted *counted = PyMem_Realloc(counter->counted, size / 2 * sizeof *counted);
    uint32_t *table = PyMem_Calloc(size, sizeof *table);
    counter->counted = counted == NULL ? counter->counted : counted;
    if (counted == NULL || table == NULL || size > UINT32_MAX) {
        PyMem_Free(table);
        PyErr_NoMemory();
        return FAILED;
    }
    PyMem_Free(counter->table);
    counter->table = table;
    counter->size = size;
    for (size_t i = 0; i < counter->number; i++) {
        *place_of_cell(counter, counted[i].cell) = (uint32_t)i + 1;
    }
    return DONE;
}

/* Count the cells of a list (`count_cells`). */
static int
count_into(Counter *counter, PyObject *cells)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cells); i++) {
        long long cell = PyLong_AsLongLong(PyList_GET_ITEM(cells, i));
        uint32_t *slot;
        if ((cell == -1 && PyErr_Occurred())
            || (2 * counter->number >= counter->size && grow_counter(counter) != DONE)) {
            return FAILED;
        }
        slot = place_of_cell(counter, cell);
        if (*slot == 0) {
            counter->counted[counter->number] = (Counted){cell, 0, i};
            *slot = (uint32_t)++counter->number;
        }
        counter->counted[*slot - 1].times++;
    }
    return DONE;
}

PyDoc_STRVAR(count_doc, "count(cells) -> how often each cell occurs (`count_cells`)");

static PyObject *
count(PyObject *module, PyObject *cells)
{
    PyObject *times = NULL;
    Counter counter = {0};
    (void)module;
    if (!PyList_Check(cells)) {
        PyErr_SetString(PyExc_TypeError, "expected a list");
        return NULL;
    }
    if (count_into(&counter, cells) == DONE) {
        times = PyDict_New();
    }
    for (size_t i = 0; times != NULL && i < counter.number; i++) {
        const Counted *counted = &counter.counted[i];
        PyObject *number = PyLong_FromSsize_t(counted->times);
        if (number == NULL
            || PyDict_SetItem(times, PyList_GET_ITEM(cells, counted->first), number) < 0) {
            Py_CLEAR(times);
        }
        Py_XDECREF(number);
    }
    PyMem_Free(counter.counted);
    PyMem_Free(counter.table);
    return times;
}

/* The cells of one attribute. */
typedef struct {
    long long attribute;
    int64_t effect;
    int is_used, is_odd;
} Group;

typedef struct {
    Group *groups; /* a table */
    size_t size;
    size_t *odd; /* the places of attributes with a cell that is not plain, in order */
    size_t number, odd_number;
    uint32_t facts[FACTS]; /* how often each fact occurs */
} Groups;

/* Add the cells of a list to the groups of their attributes; TO_PYTHON if the table is full. */
static int
group_cells(Groups *groups, PyObject *cells, int plain, const int64_t *effects)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cells); i++) {
        long long cell = PyLong_AsLongLong(PyList_GET_ITEM(cells, i));
        int fact = (int)(cell & FACT_MASK);
        size_t at = (size_t)mixed(6, (uint64_t)cell >> CELL_BITS) & (groups->size - 1);
        Group *group = &groups->groups[at];
        if (cell < 0) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "a cell is negative");
            }
            return FAILED;
        }
        while (group->is_used && group->attribute != cell >> CELL_BITS) {
            at = (at + 1) & (groups->size - 1);
            group = &groups->groups[at];
        }
        if (!group->is_used) {
            if (2 * groups->number == groups->size) {
                return TO_PYTHON;
            }
            group->is_used = 1;
            group->attribute = cell >> CELL_BITS;
            groups->number++;
        }
        if (fact == plain) {
            group->effect += (int64_t)1 << 32;
        } else {
            group->effect += effects[fact];
            if (!group->is_odd) {
                group->is_odd = 1;
                groups->odd[groups->odd_number++] = at;
            }
        }
        groups->facts[fact]++;
    }
    return DONE;
}

/* The sums over facts, the effects of odd attributes, and the number of the others. */
static PyObject *
grouped_sums(const Groups *groups, const uint32_t *rows)
{
    uint32_t lanes[LANES] = {0};
    PyObject *effects = PyList_New((Py_ssize_t)groups->odd_number);
    for (int fact = 0; fact < FACTS; fact++) {
        uint32_t times = groups->facts[fact];
        for (int lane = 0; times > 0 && lane < LANES; lane++) {
            lanes[lane] += times * rows[fact * LANES + lane];
        }
    }
    for (size_t i = 0; effects != NULL && i < groups->odd_number; i++) {
        PyObject *effect = PyLong_FromLongLong(groups->groups[groups->odd[i]].effect);
        if (effect == NULL) {
            Py_CLEAR(effects);
        } else {
            PyList_SET_ITEM(effects, (Py_ssize_t)i, effect);
        }
    }
    if (effects == NULL) {
        return NULL;
    }
    return Py_BuildValue("y#Nn", (const char *)lanes, (Py_ssize_t)sizeof lanes, effects,
                         (Py_ssize_t)(groups->number - groups->odd_number));
}

/* A power of two that is at least twice a number. */
static size_t
table_size_for(Py_ssize_t number)
{
    size_t size = 16;
    while (size < 2 * (size_t)number) {
        size *= 2;
    }
    return size;
}

PyDoc_STRVAR(sum_cells_doc,
             "sum_cells(cells, plain, rows, effects) -> (lanes, effects, clean)\n\n"
             "The sums over the cells of a case, as by `_sum_cells`; `plain` is the fact of a\n"
             "plain match.");

static PyObject *
sum_cells(PyObject *module, PyObject *args)
{
    PyObject *cells, *sums = NULL;
    Py_buffer rows, effects;
    Group few[2 * SMALL_CASE];
    size_t few_odd[2 * SMALL_CASE];
    Groups groups = {.groups = few, .odd = few_odd, .size = 2 * SMALL_CASE};
    int plain;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!iy*y*", &PyList_Type, &cells, &plain, &rows, &effects)) {
        return NULL;
    }
    if (rows.len != (Py_ssize_t)sizeof(uint32_t) * FACTS * LANES
        || effects.len != (Py_ssize_t)sizeof(int64_t) * FACTS) {
        PyErr_SetString(PyExc_ValueError, "there are 128 facts");
    } else if (PyList_GET_SIZE(cells) > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "there are too many cells");
    } else {
        int done;
        memset(few, 0, sizeof few);
        done = group_cells(&groups, cells, plain, effects.buf);
        if (done == TO_PYTHON) { /* many attributes */
            groups = (Groups){.size = table_size_for(PyList_GET_SIZE(cells))};
            groups.groups = PyMem_Calloc(groups.size, sizeof *groups.groups);
            groups.odd = PyMem_New(size_t, groups.size);
            if (groups.groups == NULL || groups.odd == NULL) {
                PyErr_NoMemory();
            } else {
                done = group_cells(&groups, cells, plain, effects.buf);
            }
        }
        if (done == DONE) {
            sums = grouped_sums(&groups, rows.buf);
        }
        if (groups.groups != few) {
            PyMem_Free(groups.groups);
            PyMem_Free(groups.odd);
        }
    }
    PyBuffer_Release(&rows);
    PyBuffer_Release(&effects);
    return sums;
}

PyMethodDef counting_functions[] = {
    {"count", count, METH_O, count_doc},
    {"sum_cells", sum_cells, METH_VARARGS, sum_cells_doc},
    {NULL, NULL, 0, NULL},
};
