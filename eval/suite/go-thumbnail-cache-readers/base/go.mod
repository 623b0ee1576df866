module example.org/gallery

go 1.19
