NAME          bakery
OBJSENSE
    MAX
ROWS
 N  worth
 L  flour
 L  oven
 L  hands
COLUMNS
    bread     worth     3.0    flour     1.0
    bread     oven      1.0    hands     0.5
    rolls     worth     3.5    flour     0.6
    rolls     oven      0.8    hands     1.2
    cakes     worth     6.0    flour     0.8
    cakes     oven      2.0    hands     1.5
    tarts     worth     5.0    flour     0.5
    tarts     oven      1.2    hands     2.0
    pasta     worth     2.0    flour     1.1
    pasta     hands     0.4
RHS
    RHS       flour     60.0   oven      55.0
    RHS       hands     70.0
BOUNDS
 UP BND       bread     40.0
 UP BND       rolls     40.0
 UP BND       cakes     15.0
 UP BND       tarts     20.0
 UP BND       pasta     30.0
ENDATA
