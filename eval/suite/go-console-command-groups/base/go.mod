module example.org/dockyard

go 1.19
