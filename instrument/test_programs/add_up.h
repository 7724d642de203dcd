#pragma once
long add_up(const long* numbers, int n);
