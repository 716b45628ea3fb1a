#version 330 core
// One instance is one rectangle in whole device pixels, y downwards; the four corners come from gl_VertexID.
layout(location = 0) in vec4 rect;
layout(location = 1) in vec4 colour;
uniform vec2 size;
out vec4 fill;

void main() {
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
    vec2 at = (rect.xy + corner * rect.zw) / size;
    gl_Position = vec4(at.x * 2.0 - 1.0, 1.0 - at.y * 2.0, 0.0, 1.0);
    fill = colour;
}
