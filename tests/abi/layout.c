/* SPDX-License-Identifier: Apache-2.0
 * The pinned layout as C11 sees it. Compiling it is the test. */
#include "layout.h"

int main(void) { return 0; }
