#version 330 core
in vec4 fill;
out vec4 shown;

void main() {
    shown = vec4(fill.rgb, 1.0);
}
