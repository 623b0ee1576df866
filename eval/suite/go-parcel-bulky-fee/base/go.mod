module example.org/parcelshop

go 1.19
