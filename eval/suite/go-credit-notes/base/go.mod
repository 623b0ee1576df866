module example.org/waterworks

go 1.19
