// Nothing of its own: the targets made of it carry the precompiled headers.
int main() { return 0; }
