/* Nodes of the plan: what `AttributeNode` says about an attribute, cached by key.

   Invariants: a node exists once for each `AttributeNode`; its properties are read once, when the
   walk first needs them, and do not change.

   Specified by `_described` in plan/kernel_walk.py, which gives the properties. */

#include "kernel.h"

/* Free a node and all nodes below it, which may be NULL. */
void
free_node(Node *node)
{
    if (node == NULL) {
        return;
    }
    for (size_t i = 0; i < node->number; i++) {
        free_node(node->children[i]);
    }
    free_node(node->item);
    Py_XDECREF(node->attribute);
    Py_XDECREF(node->key);
    Py_XDECREF(node->match);
    Py_XDECREF(node->compare);
    Py_XDECREF(node->leaf_rule);
    Py_XDECREF(node->rule_compare);
    Py_XDECREF(node->item_path);
    Py_XDECREF(node->item_node);
    Py_XDECREF(node->fields);
    Py_XDECREF(node->select);
    Py_XDECREF(node->align_rest);
    for (size_t i = 0; node->agreed != NULL && i < MOST_AGREED; i++) {
        Py_XDECREF(node->agreed[i]);
    }
    PyMem_Free(node->agreed);
    PyMem_Free(node->children);
    PyMem_Free(node->table);
    PyMem_Free(node);
}

/* Ask Python about a node; again after its attribute was registered, or its item node created. */
int
describe(const Walker *walker, Node *node)
{
    PyObject *description = PyObject_CallOneArg(walker->describe, node->attribute), *objects[9];
    PyObject **fields[9] = {&node->match,        &node->compare,   &node->leaf_rule,
                            &node->rule_compare, &node->item_path, &node->item_node,
                            &node->fields,       &node->select,    &node->align_rest};
    if (description == NULL) {
        return FAILED;
    }
    if (!PyArg_ParseTuple(description, "iLpppddpdddOOOOOOOOO", &node->flags, &node->base,
                          &node->text_matches, &node->number_matches, &node->iso_matches,
                          &node->min_weight, &node->one_sided, &node->keeps_text, &node->absolute,
                          &node->relative, &node->at_zero, &objects[0], &objects[1], &objects[2],
                          &objects[3], &objects[4], &objects[5], &objects[6], &objects[7],
                          &objects[8])) {
        Py_DECREF(description);
        return FAILED;
    }
    for (int i = 0; i < 9; i++) {
        Py_XSETREF(*fields[i], Py_NewRef(objects[i]));
    }
    Py_DECREF(description);
    return DONE;
}

/* Make a node for an `AttributeNode`; NULL for an error. */
Node *
make_node(const Walker *walker, PyObject *attribute)
{
    Node *node = PyMem_Calloc(1, sizeof *node);
    if (node == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    node->attribute = Py_NewRef(attribute);
    if (describe(walker, node) != DONE) {
        free_node(node);
        return NULL;
    }
    return node;
}

/* Enter a child in the table of a node that has room. */
static void
enter_child(Node *node, size_t index)
{
    size_t slot = (size_t)node->children[index]->key_hash & (node->table_size - 1);
    while (node->table[slot] != 0) {
        slot = (slot + 1) & (node->table_size - 1);
    }
    node->table[slot] = (uint32_t)index + 1;
}

/* Make room for one more child, in the list and in the table. */
static int
grow_children(Node *node)
{
    size_t capacity = node->capacity ? 2 * node->capacity : 8;
    Node **children;
    uint32_t *table;
    if (node->number < node->capacity) {
        return DONE;
    }
    if (capacity > UINT32_MAX / 4) {
        PyErr_NoMemory();
        return FAILED;
    }
    children = PyMem_Realloc(node->children, capacity * sizeof *children);
    if (children == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    node->children = children;
    table = PyMem_Calloc(2 * capacity, sizeof *table);
    if (table == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    PyMem_Free(node->table);
    node->table = table;
    node->table_size = 2 * capacity;
    node->capacity = capacity;
    for (size_t i = 0; i < node->number; i++) {
        enter_child(node, i);
    }
    return DONE;
}

/* Whether a node is below the key of a token. */
static int
has_key(const Node *node, const Byte *bytes, const Token *token)
{
    return node->key_hash == token->key_hash
           && PyBytes_GET_SIZE(node->key) == (Py_ssize_t)token->key_length
           && are_same_bytes((const Byte *)PyBytes_AS_STRING(node->key), bytes + token->key,
                             token->key_length);
}

/* The first document with this key: create the node below it (`AttributeNode.child`). */
static Node *
add_child(const Walker *walker, Node *node, const Byte *bytes, const Token *token)
{
    const char *start = (const char *)bytes + token->key;
    PyObject *key, *attribute;
    Node *child;
    if (grow_children(node) != DONE) {
        return NULL;
    }
    key = PyUnicode_DecodeUTF8(start, (Py_ssize_t)token->key_length, NULL);
    if (key == NULL) {
        return NULL;
    }
    attribute = PyObject_CallMethodOneArg(node->attribute, walker->child, key);
    Py_DECREF(key);
    if (attribute == NULL) {
        return NULL;
    }
    child = make_node(walker, attribute);
    Py_DECREF(attribute);
    if (child == NULL) {
        return NULL;
    }
    child->key = PyBytes_FromStringAndSize(start, (Py_ssize_t)token->key_length);
    if (child->key == NULL) {
        free_node(child);
        return NULL;
    }
    child->key_hash = token->key_hash;
    node->children[node->number] = child;
    enter_child(node, node->number++);
    return child;
}

/* The node below the key of a token; `guess` is where it was in other documents. */
Node *
child_of(const Walker *walker, Node *node, const Byte *bytes, const Token *token, size_t guess)
{
    if (guess < node->number && has_key(node->children[guess], bytes, token)) {
        return node->children[guess];
    }
    if (node->number > 0) {
        size_t at = (size_t)token->key_hash & (node->table_size - 1);
        while (node->table[at] != 0) {
            Node *child = node->children[node->table[at] - 1];
            if (has_key(child, bytes, token)) {
                return child;
            }
            at = (at + 1) & (node->table_size - 1);
        }
    }
    return add_child(walker, node, bytes, token);
}

/* The node of all items of a list (`AttributeNode.item`); NULL without an error if a rule names
   an index, so that there are several. */
Node *
item_of(const Walker *walker, Node *node)
{
    if (node->item == NULL && node->item_node == Py_None) {
        PyObject *made =
            PyObject_CallMethodOneArg(node->attribute, walker->item, walker->any_index);
        Py_XDECREF(made);
        if (made == NULL || describe(walker, node) != DONE) {
            return NULL;
        }
    }
    if (node->item == NULL && node->item_node != Py_None) {
        node->item = make_node(walker, node->item_node);
    }
    return node->item;
}
