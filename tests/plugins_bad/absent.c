/* SPDX-License-Identifier: Apache-2.0
 * A library that a plugin was linked with and that is not installed. */
int kcm_absent(void);
__attribute__((visibility("default"))) int kcm_absent(void) { return 1; }
