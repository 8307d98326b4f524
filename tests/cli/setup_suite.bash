# Texts are looked for in lines as they were said; screens.bats asks for pages of some widths.
setup_suite() {
    export COLUMNS=1000
}
