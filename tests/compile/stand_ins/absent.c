int ffpa_test_absent_function(void) { return 1; }
