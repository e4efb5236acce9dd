int ffpa_test_absent_function(void);
int ffpa_test_needs_absent_function(void) { return ffpa_test_absent_function(); }
